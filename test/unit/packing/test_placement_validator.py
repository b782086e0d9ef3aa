"""The validator: what it refuses, and that it agrees with comparing all pairs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo.passes.memory.packing import Buffer, InvalidPlacementError, Placement, check_placement

A = Buffer("a", 0, 4, 100, 64)
B = Buffer("b", 2, 6, 50)
C = Buffer("c", 4, 8, 30)


def test_accepts_a_placement() -> None:
    # c starts as a ends
    check_placement([A, B, C], Placement({"a": 0, "b": 100, "c": 0}, 150), capacity=150)


@pytest.mark.parametrize(
    ("offsets", "height", "message"),
    [
        ({"a": 0, "b": 99, "c": 0}, 149, "buffer a, bytes .* and buffer b, .* overlap at moment 2"),
        ({"a": 64, "b": 64, "c": 0}, 164, "overlap at moment 2"),
        ({"a": 0, "b": 100, "c": 120}, 150, "buffer b, .* buffer c, .* overlap at moment 4"),
        ({"a": 32, "b": 132, "c": 0}, 182, "buffer a lies at 32; expected a multiple of 64"),
        ({"a": -64, "b": 100, "c": 0}, 150, "buffer a lies at -64"),
        ({"a": 0, "b": 100, "c": 0}, 151, "says its height is 151; its buffers end at 150"),
        ({"a": 0, "b": 200, "c": 0}, 250, "takes 250 bytes of 200"),
        ({"a": 0, "b": 100}, 150, "2 offsets for 3 buffers"),
        ({"a": 0, "b": 100, "d": 0}, 150, "buffer c has no offset"),
    ],
)
def test_refuses(offsets: dict[int | str, int], height: int, message: str) -> None:
    with pytest.raises(InvalidPlacementError, match=message):
        check_placement([A, B, C], Placement(offsets, height), capacity=200)


def test_buffers_of_no_byte_or_no_time_overlap_with_nothing() -> None:
    buffers = [A, Buffer("empty", 0, 4, 0), Buffer("never", 2, 2, 80)]
    check_placement(buffers, Placement({"a": 0, "empty": 0, "never": 10}, 100))


@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 4), st.integers(0, 4), st.integers(0, 12)),
        max_size=12,
    )
)
@settings(max_examples=300, deadline=None)
def test_agrees_with_comparing_all_pairs(rows: list[tuple[int, int, int, int]]) -> None:
    buffers = [Buffer(i, s, s + t, size) for i, (s, t, size, _) in enumerate(rows)]
    offsets: dict[int | str, int] = {i: offset for i, (_, _, _, offset) in enumerate(rows)}
    height = max((offset + size for _, _, size, offset in rows if size > 0), default=0)
    bytes_of = [set(range(offset, offset + size)) for _, _, size, offset in rows]
    moments_of = [set(range(s, s + t)) for s, t, _, _ in rows]
    overlaps = any(
        bytes_of[i] & bytes_of[j] and moments_of[i] & moments_of[j]
        for j in range(len(rows))
        for i in range(j)
    )
    if not overlaps:
        check_placement(buffers, Placement(offsets, height))
        return
    with pytest.raises(InvalidPlacementError, match="overlap at moment"):
        check_placement(buffers, Placement(offsets, height))
