"""The cost of kernels, and of the program they make up: flops, and bytes to and from memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hlo import ir
from hlo.passes.cost.caches import CORE_BYTES
from hlo.passes.cost.op_cost import flops, transcendentals
from hlo.passes.hlo_to_host.liveness import VIEWS, BlockLiveness
from hlo.passes.hlo_to_loops.graph import Node, Region, Tensor, captured, is_composite

PICKING = frozenset({"slice", "dynamic_slice", "gather"})
TRIP_COUNT = "hlo.trip_count"

Readers: TypeAlias = dict[Tensor, list[Node]]


@dataclass(frozen=True)
class KernelCost:
    """One kernel of a program. All figures are for one call of it.

    Attributes:
        name: of the fusion, or of the op.
        kind: of the fusion; `op` for an op that is a kernel of its own.
        location: where it comes from, as MLIR prints it.
        calls: how often one run of the program calls it: the trip counts of the loops around it.
        flops, transcendentals: as `hlo.passes.cost.op_cost` counts them.
        bytes_read, bytes_written: of the buffers it takes and gives. A buffer read several times
            counts once; of one that is only sliced or gathered from, what is taken counts; an
            update in place counts what it changes.
    """

    name: str
    kind: str
    location: str
    calls: int
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int

    @property
    def bytes(self) -> int:
        """Bytes to and from memory, in one call."""
        return self.bytes_read + self.bytes_written


def kernel_costs(region: Region, calls: int = 1) -> Iterator[KernelCost]:
    """The kernels of a block in order, those in loops and branches included.

    A loop whose trip count is not known counts one iteration, and of a conditional the branch that
    moves most bytes counts.
    """
    live = BlockLiveness(region.nodes, region.results)
    for node in region.nodes:
        if node.name == "while":
            times = calls * int(node.attributes.get(TRIP_COUNT, 1))
            for inner in node.regions:
                yield from kernel_costs(inner, times)
        elif node.name in ("if", "case"):
            branches = [list(kernel_costs(inner, calls)) for inner in node.regions]
            yield from max(branches, key=_bytes_of, default=[])
        elif node.name != "constant" and not live.is_view(node):
            yield cost_of(node, calls)


def unknown_trip_counts(region: Region) -> int:
    """How many loops count one iteration for want of a known trip count."""
    return sum(
        (node.name == "while" and TRIP_COUNT not in node.attributes)
        + sum(unknown_trip_counts(inner) for inner in node.regions)
        for node in region.nodes
    )


def cost_of(node: Node, calls: int = 1) -> KernelCost:
    """The cost of a fusion, or of an op that is a kernel of its own."""
    fused = node.name == "fusion"
    if fused and is_composite(node.regions[0]):
        return _cost_of_composite(node, calls)
    inside = node.regions[0].nodes if fused else [node]
    readers = readers_in(inside)
    if fused:
        read = sum(bytes_taken(t, readers) for t in node.regions[0].arguments)
        results: Sequence[Tensor] = node.regions[0].results
    else:
        taken = [t for t in dict.fromkeys(captured(node)) if not _is_splat(t)]
        read, results = sum(bytes_taken(t, readers) for t in taken), node.results
    return KernelCost(
        name=str(node.attributes.get("name") or node.name) if fused else node.name,
        kind=str(node.attributes.get("kind") or "fusion") if fused else "op",
        location=node.location,
        calls=calls,
        flops=sum(flops(n) for n in inside),
        transcendentals=sum(transcendentals(n) for n in inside),
        bytes_read=read,
        bytes_written=sum(bytes_given(t) for t in results),
    )


def _cost_of_composite(node: Node, calls: int) -> KernelCost:
    """The cost of kernels in one launch: their sum, but a small input of several counts once.

    Members do their work one after another: what is larger than the cache is read by each anew.
    """
    region = node.regions[0]
    members = [cost_of(member) for member in region.nodes]
    taken: dict[Tensor, int] = {}
    for member in region.nodes:
        readers = readers_in(member.regions[0].nodes)
        for outer, inner in zip(member.operands, member.regions[0].arguments, strict=True):
            most = taken.get(outer, 0) + bytes_taken(inner, readers)
            cached = bytes_of(outer) <= CORE_BYTES
            taken[outer] = min(bytes_of(outer), most) if cached else most
    return KernelCost(
        name=str(node.attributes.get("name") or node.name),
        kind=str(node.attributes["kind"]),
        location=node.location,
        calls=calls,
        flops=sum(member.flops for member in members),
        transcendentals=sum(member.transcendentals for member in members),
        bytes_read=sum(taken.values()),
        bytes_written=sum(member.bytes_written for member in members),
    )


def floor_bytes(region: Region) -> int:
    """Bytes that any schedule of a program moves: inputs and constants it needs, and results."""
    stored = [
        node.results[0]
        for node in region.nodes
        if node.name == "constant" and not _is_splat(node.results[0])
    ]
    readers = readers_in(region.nodes)
    reads = sum(bytes_taken(t, readers) for t in (*region.arguments, *stored))
    return reads + sum(bytes_given(t) for t in region.results)


def bytes_of(tensor: Tensor) -> int:
    """Bytes of a tensor in memory."""
    return tensor.size * tensor.type.memory_bytes


def readers_in(nodes: Sequence[Node]) -> Readers:
    """The ops that read each tensor, those included that read it in their regions."""
    readers: dict[Tensor, list[Node]] = {}
    for node in nodes:
        for operand in dict.fromkeys(captured(node)):
            readers.setdefault(operand, []).append(node)
    return readers


def bytes_taken(tensor: Tensor, readers: Readers) -> int:
    """Bytes that ops read of one of their inputs."""
    taken = sum(_taken_by(tensor, reader, readers) for reader in readers.get(tensor, ()))
    return min(bytes_of(tensor), taken)


def bytes_given(tensor: Tensor) -> int:
    """Bytes written for a result: those that change, where its producer updates an operand."""
    producer = tensor.producer
    if producer is None:
        return bytes_of(tensor)
    if producer.name == "dynamic_update_slice":
        return bytes_of(producer.operands[1])
    if producer.name == "scatter":
        count = len(producer.results)
        return bytes_of(producer.operands[len(producer.operands) - count + tensor.index])
    if producer.name in VIEWS:
        return bytes_given(producer.operands[tensor.index])
    return bytes_of(tensor)


def _taken_by(tensor: Tensor, reader: Node, readers: Readers) -> int:
    if reader.name in PICKING and tensor not in reader.operands[1:]:
        return bytes_of(reader.results[0])
    if reader.name in VIEWS:
        return bytes_taken(reader.results[reader.operands.index(tensor)], readers)
    if reader.name == "dynamic_update_slice" and tensor not in reader.operands[1:]:
        return 0
    if reader.name == "scatter" and tensor in reader.operands[: len(reader.results)]:
        return bytes_of(reader.operands[-1])  # what is changed is read first
    return bytes_of(tensor)


def _bytes_of(costs: Sequence[KernelCost]) -> int:
    return sum(cost.calls * cost.bytes for cost in costs)


def _is_splat(tensor: Tensor) -> bool:
    producer = tensor.producer
    if producer is None or producer.name != "constant":
        return False
    return ir.constants.splat_value(producer.source.attributes["value"]) is not None
