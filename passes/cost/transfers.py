"""Bytes that kernels move: of each value they read, and of each they write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hlo import ir
from hlo.passes.cost.caches import CORE_BYTES, SHARED_BYTES
from hlo.passes.hlo_to_host.liveness import VIEWS
from hlo.passes.hlo_to_loops.graph import Node, Tensor, captured, is_composite

PICKING = frozenset({"slice", "dynamic_slice", "gather"})
# Written line by line, element after element, and so past the caches where it is much.
STREAMED = frozenset({"loop", "reduce", "row"})

Readers: TypeAlias = dict[Tensor, list[Node]]


@dataclass(frozen=True)
class Transfers:
    """What one call of a kernel moves, in bytes.

    Attributes:
        read: of each value outside of the kernel. One that is read several times counts once; of
            one that is only sliced or gathered from, what is taken counts.
        written: of each result; of an update in place, what it changes.
        scratch_read, scratch_written: what members of a launch hand to one another.
        streams: whether results go past the caches.
    """

    read: dict[Tensor, int]
    written: dict[Tensor, int]
    scratch_read: int = 0
    scratch_written: int = 0
    streams: bool = False

    @property
    def bytes_read(self) -> int:
        """All that is read."""
        return sum(self.read.values()) + self.scratch_read

    @property
    def bytes_written(self) -> int:
        """All that is written."""
        return sum(self.written.values()) + self.scratch_written


def transfers_of(node: Node) -> Transfers:
    """Of a fusion, or of an op that is a kernel of its own."""
    if node.name != "fusion":
        readers = readers_in([node])
        taken = [t for t in dict.fromkeys(captured(node)) if not is_splat(t)]
        read = {t: bytes_taken(t, readers) for t in taken}
        return Transfers(read, {t: bytes_given(t) for t in node.results})
    region = node.regions[0]
    if is_composite(region):
        return _of_composite(node)
    readers = readers_in(region.nodes)
    read: dict[Tensor, int] = {}
    for outer, inner in zip(node.operands, region.arguments, strict=True):
        read[outer] = read.get(outer, 0) + bytes_taken(inner, readers)
    written = {o: bytes_given(i) for o, i in zip(node.results, region.results, strict=True)}
    large = sum(map(bytes_of, node.results)) >= SHARED_BYTES
    return Transfers(read, written, streams=large and node.attributes.get("kind") in STREAMED)


def _of_composite(node: Node) -> Transfers:
    """Of kernels in one launch: their sum, but a small input of several counts once.

    Members do their work one after another: what is larger than the cache is read by each anew.
    """
    region = node.regions[0]
    outside = dict(zip(region.arguments, node.operands, strict=True))
    taken: dict[Tensor, int] = {}
    given: dict[Tensor, int] = {}
    for member in region.nodes:
        inside = member.regions[0]
        readers = readers_in(inside.nodes)
        for outer, inner in zip(member.operands, inside.arguments, strict=True):
            most = taken.get(outer, 0) + bytes_taken(inner, readers)
            cached = bytes_of(outer) <= CORE_BYTES
            taken[outer] = min(bytes_of(outer), most) if cached else most
        for outer, inner in zip(member.results, inside.results, strict=True):
            given[outer] = bytes_given(inner)
    read = {outside[t]: count for t, count in taken.items() if t in outside}
    written = {o: given[i] for o, i in zip(node.results, region.results, strict=True)}
    return Transfers(
        read,
        written,
        scratch_read=sum(count for t, count in taken.items() if t not in outside),
        scratch_written=sum(given.values()) - sum(written.values()),
    )


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


def is_splat(tensor: Tensor) -> bool:
    """Whether a value is a constant of one element repeated: it is not read from memory."""
    producer = tensor.producer
    if producer is None or producer.name != "constant":
        return False
    return ir.constants.splat_value(producer.source.attributes["value"]) is not None
