"""What the kernel of an op computes, written one way whatever stood around the op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hlo.passes.hlo_to_loops.graph import (
    Node,
    Region,
    Tensor,
    captured,
    is_composite,
    splat_of,
)

# Ops whose kernels take their operands as they are in memory: constants too.
READ_FROM_MEMORY = frozenset(
    [
        "custom_call",
        "convolution",
        "dot_general",
        "dynamic_update_slice",
        "fft",
        "scatter",
        "select_and_scatter",
        "sort",
    ]
)


def kernel_region(node: Node) -> tuple[Region, list[Tensor]]:
    """What a kernel for `node` computes, and the values it takes; scalar constants go inside."""
    if node.name == "fusion":
        return _in_reading_order(node.regions[0], node.operands)
    region = Region(results=list(node.results))
    inputs: list[Tensor] = []
    for operand in dict.fromkeys(captured(node)):
        producer = operand.producer
        constant = (
            producer is not None and producer.name == "constant" and splat_of(producer) is not None
        )
        if constant and (node.name not in READ_FROM_MEMORY or operand not in node.operands):
            assert producer is not None
            region.nodes.append(producer)
        else:
            region.arguments.append(operand)
            inputs.append(operand)
    region.nodes.append(node)
    return region, inputs


def _in_reading_order(region: Region, operands: Sequence[Tensor]) -> tuple[Region, list[Tensor]]:
    """A region whose nodes and arguments are in the order in which its results lead to them.

    Layers of a model are the same kernel then, also where the program computes what they read in
    another order. The members of a composite stay in the order of its launch.

    Args:
        operands: what the region's arguments are.
    """
    walk = _Walk()
    walk.to([t for n in region.nodes for t in captured(n)] if is_composite(region) else [])
    walk.to([*region.results, *region.arguments])
    places = {argument: i for i, argument in enumerate(region.arguments)}
    order = [places[t] for t in walk.inputs if t in places]
    nodes = region.nodes if is_composite(region) else list(walk.nodes)
    arguments = [region.arguments[i] for i in order]
    return Region(arguments, nodes, region.results), [operands[i] for i in order]


@dataclass
class _Walk:
    """Goes from values to what they are made of, operands in order.

    Attributes:
        nodes: those met, each behind those it reads from.
        inputs: values without a producer, as they were met.
    """

    nodes: dict[Node, None] = field(default_factory=dict[Node, None])
    inputs: dict[Tensor, None] = field(default_factory=dict[Tensor, None])

    def to(self, values: Sequence[Tensor]) -> None:
        """Goes to some values, in order."""
        ahead: list[Tensor | Node] = list(reversed(values))
        while ahead:
            met = ahead.pop()
            if isinstance(met, Node):
                self.nodes.setdefault(met)
            elif met.producer is None:
                self.inputs.setdefault(met)
            elif met.producer not in self.nodes:
                ahead += [met.producer, *reversed(list(captured(met.producer)))]
