"""The kernels of a program: identical ones are one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor
from hlo.passes.hlo_to_loops.loop_kernel import Kernel


def structural_key(region: Region) -> tuple[object, ...]:
    """Equal for regions that compute the same from inputs of the same types."""
    number: dict[Tensor, int] = {}
    return _region_key(region, number)


def _region_key(region: Region, number: dict[Tensor, int]) -> tuple[object, ...]:
    for tensor in region.arguments:
        number.setdefault(tensor, len(number))
    arguments = tuple((number[t], t.shape, t.type.name) for t in region.arguments)
    return (
        arguments,
        tuple(_node_key(n, number) for n in region.nodes),
        tuple(number[t] for t in region.results),
    )


def _node_key(node: Node, number: dict[Tensor, int]) -> tuple[object, ...]:
    operands = tuple(number[t] for t in node.operands)
    attributes: object
    if node.name == "constant":
        attributes = str(node.source.attributes["value"])
    else:
        attributes = repr(sorted(node.attributes.items()))
    regions = tuple(_region_key(r, number) for r in node.regions)
    for tensor in node.results:
        number[tensor] = len(number)
    results = tuple((t.shape, t.type.name) for t in node.results)
    return (node.name, operands, attributes, regions, results)


@dataclass
class KernelTable:
    """Kernels by structural key and by text, each with its name.

    Attributes:
        announce: told of each new kernel.
    """

    announce: Callable[[str, Kernel], None] | None = None
    kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
    _by_key: dict[object, str] = field(default_factory=dict[object, str])
    _by_text: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, key: object, name: str, emit: Callable[[], Kernel]) -> str:
        """The name of the kernel for `key`, emitted the first time; `name` is made unique."""
        if (known := self._by_key.get(key)) is not None:
            return known
        kernel = emit()
        known = self._by_text.get(kernel.text)
        if known is None:
            known = f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{len(self.kernels)}"
            self.kernels[known] = kernel
            self._by_text[kernel.text] = known
            if self.announce is not None:
                self.announce(known, kernel)
        self._by_key[key] = known
        return known
