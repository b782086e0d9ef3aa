"""Lanes a few elements apart, or in reverse, or both, as loads of whole vectors and shuffles.

A gather takes an address for each lane and costs as much as that many loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.builder import Builder

# Lanes this far apart are taken out of vectors side by side, and of a masked one.
MOST_SKIPPED, MOST_SKIPPED_UNDER_MASK = 8, 4


@dataclass(frozen=True)
class Lanes:
    """Where lanes are loaded from: a buffer and a place in it.

    Attributes:
        name, memref: its SSA name and MLIR type.
        memory: the MLIR type of its elements.
        at: the SSA index so many elements behind that of lane 0.
    """

    name: str
    memref: str
    memory: str
    at: Callable[[int], str]


def load_strided(
    b: Builder, source: Lanes, stride: int, mask: str | None, most: int = MOST_SKIPPED
) -> str | None:
    """The raw lanes that lie `stride` elements apart, in reverse if that is negative; None if that
    is too far.

    Nothing is read but what lies between the first and the last lane.

    Args:
        most: how far lanes without a mask may be apart.
    """
    if stride == -1:
        return _reversed(b, source, mask)
    if not 1 < abs(stride) <= (most if mask is None else MOST_SKIPPED_UNDER_MASK):
        return None
    if stride < 0 and mask is not None:
        last = stride * (b.lanes - 1)
        turned = Lanes(source.name, source.memref, source.memory, lambda k: source.at(k + last))
        order, vector, bits = range(b.lanes - 1, -1, -1), b.type_of(source.memory), b.type_of("i1")
        raw = _apart_under_a_mask(b, turned, -stride, _shuffle(b, mask, mask, order, bits))
        return _shuffle(b, raw, raw, order, vector)
    if mask is None:
        return _apart(b, source, stride)
    return _apart_under_a_mask(b, source, stride, mask)


def _reversed(b: Builder, source: Lanes, mask: str | None) -> str:
    lanes, vector, bits = b.lanes, b.type_of(source.memory), b.type_of("i1")
    order, base = range(lanes - 1, -1, -1), source.at(1 - lanes)
    if mask is None:
        raw = b.load(f"vector.load {source.name}[{base}] : {source.memref}, {vector}")
        return _shuffle(b, raw, raw, order, vector)
    turned = _shuffle(b, mask, mask, order, bits)
    raw = b.load(
        f"vector.maskedload {source.name}[{base}], {turned}, {b.constant(0, source.memory)} : "
        f"{source.memref}, {bits}, {vector} into {vector}"
    )
    return _shuffle(b, raw, raw, order, vector)


def _apart(b: Builder, source: Lanes, stride: int) -> str:
    lanes, vector, found = b.lanes, b.type_of(source.memory), ""
    span = abs(stride) * (lanes - 1) + 1
    first = min(0, stride * (lanes - 1))
    starts = [first + i for i in (*range(0, span - lanes, lanes), span - lanes)]
    for number, start in enumerate(starts):
        raw = b.load(f"vector.load {source.name}[{source.at(start)}] : {source.memref}, {vector}")
        # Lanes found before stay; those not yet reached may be any.
        places = [lane * stride - start for lane in range(lanes)]
        order = [lanes + p if 0 <= p < lanes else lane for lane, p in enumerate(places)]
        if number == 0:
            found = _shuffle(b, raw, raw, [p if 0 <= p < lanes else 0 for p in places], vector)
        else:
            found = _shuffle(b, found, raw, order, vector)
    return found


def _apart_under_a_mask(b: Builder, source: Lanes, stride: int, lane_mask: str) -> str:
    """In one load of many lanes, of which the mask leaves out what lies between."""
    lanes, memory, narrow = b.lanes, source.memory, b.type_of("i1")
    count = lanes * stride
    wide, bits = f"vector<{count}x{memory}>", f"vector<{count}xi1>"
    places = [lanes if i % stride else i // stride for i in range(count)]
    mask = _shuffle(b, lane_mask, b.constant(False, "i1"), places, narrow)
    with b.width(count):
        zero = b.constant(0, memory)
    raw = b.load(
        f"vector.maskedload {source.name}[{source.at(0)}], {mask}, {zero} : "
        f"{source.memref}, {bits}, {wide} into {wide}"
    )
    return _shuffle(b, raw, raw, range(0, count, stride), wide)


def _shuffle(b: Builder, first: str, second: str, order: Sequence[int], vector: str) -> str:
    listed = ", ".join(map(str, order))
    return b.op(f"vector.shuffle {first}, {second} [{listed}] : {vector}, {vector}")
