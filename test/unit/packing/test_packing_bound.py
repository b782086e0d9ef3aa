"""The lower bound."""

from __future__ import annotations

from hlo.passes.memory.packing import Buffer, lower_bound


def test_nothing_needs_nothing() -> None:
    assert lower_bound([]) == 0


def test_most_bytes_live_at_once() -> None:
    assert lower_bound([Buffer("a", 0, 2, 5), Buffer("b", 1, 3, 7), Buffer("c", 2, 4, 4)]) == 12


def test_ends_come_before_starts() -> None:
    assert lower_bound([Buffer("a", 0, 2, 5), Buffer("b", 2, 3, 7)]) == 7


def test_padding_counts_but_for_the_buffer_on_top() -> None:
    # 64 + 128 + 192 (padded), less 63: the buffer of 1 byte is best on top
    sizes = (1, 100, 190)
    assert lower_bound([Buffer(i, 0, 1, size, 64) for i, size in enumerate(sizes)]) == 321


def test_the_fullest_padded_moment_need_not_be_the_highest() -> None:
    # Moment 0: 128 (padded), less 63. Moment 1: 128, less none. 128 bytes are needed.
    buffers = [
        Buffer("a", 0, 1, 1, 64),
        Buffer("b", 0, 1, 64, 64),
        Buffer("c", 1, 2, 64, 64),
        Buffer("d", 1, 2, 64, 64),
    ]
    assert lower_bound(buffers) == 128


def test_buffers_that_are_never_live_must_fit() -> None:
    assert lower_bound([Buffer("a", 0, 1, 5), Buffer("b", 2, 2, 9)]) == 9


def test_different_alignments_pad_to_their_common_divisor() -> None:
    # 8 aligned to 4 is 8, 5 aligned to 4 is 8, less 3
    assert lower_bound([Buffer("a", 0, 1, 8, 8), Buffer("b", 0, 1, 5, 12)]) == 13
