"""Buffers, placements, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hlo.diagnostics import CompileError

BufferId = int | str

# Offsets are computed in 64-bit integers; this leaves room for any sum of two of them.
MAX_TOTAL_BYTES = 2**62


class InvalidBufferError(CompileError, ValueError):
    """Buffers that are no packing problem: a range that ends before it starts, for example."""


class InvalidPlacementError(CompileError, ValueError):
    """A placement that does not solve its problem."""


@dataclass(frozen=True)
class Buffer:
    """Bytes that are needed for some time.

    Attributes:
        id: distinct among the buffers of a problem.
        start: first moment it is live, in any unit of time.
        end: first moment it is live no more. Live in [start, end); if equal, it shares bytes with
            any other buffer but still lies inside the arena.
        size: bytes; a buffer of none lies at offset 0.
        alignment: in bytes; its offset is a multiple.
    """

    id: BufferId
    start: int
    end: int
    size: int
    alignment: int = 1


@dataclass(frozen=True)
class Placement:
    """Where buffers lie in one arena.

    Attributes:
        offsets: the byte offset of each, by id.
        height: bytes of the arena: the largest offset + size.
        bound: bytes that any placement needs; height == bound is proof that this one is best.
        method: how it was found, for people.
    """

    offsets: Mapping[BufferId, int]
    height: int
    bound: int = field(default=0, compare=False)
    method: str = field(default="", compare=False)


def check_buffers(buffers: Sequence[Buffer]) -> None:
    """Raises `InvalidBufferError` unless the buffers are a packing problem."""
    seen: set[BufferId] = set()
    total = 0
    for buffer in buffers:
        if buffer.id in seen:
            raise InvalidBufferError(f"two buffers have the id {buffer.id}; give each its own")
        seen.add(buffer.id)
        if buffer.start > buffer.end:
            raise InvalidBufferError(
                f"buffer {buffer.id} is live in [{buffer.start}, {buffer.end}); "
                "expected start <= end"
            )
        if buffer.size < 0:
            raise InvalidBufferError(f"buffer {buffer.id} has {buffer.size} bytes; expected >= 0")
        if buffer.alignment < 1:
            raise InvalidBufferError(
                f"buffer {buffer.id} has alignment {buffer.alignment}; expected >= 1"
            )
        if not -MAX_TOTAL_BYTES < buffer.start <= buffer.end < MAX_TOTAL_BYTES:
            raise InvalidBufferError(
                f"buffer {buffer.id} is live in [{buffer.start}, {buffer.end}), "
                "which does not fit 63 bits; number the moments from 0"
            )
        total += buffer.size + buffer.alignment
    if total >= MAX_TOTAL_BYTES:
        raise InvalidBufferError(
            f"the buffers and their padding have {total} bytes together; expected less than 2**62"
        )
