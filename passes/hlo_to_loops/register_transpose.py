"""Squares of vectors turned in registers, and added up across their lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlo.passes.hlo_to_loops.builder import Builder

_BLOCK_BITS = 128  # of a vector, within which the processor interleaves lanes fastest


def transpose_square(b: Builder, rows: Sequence[str], scalar: str) -> list[str]:
    """The columns of a square of `len(rows)` vectors of as many lanes, a power of two, in
    n log2(n) shuffles of two vectors.

    First squares as wide as a block of a vector are turned, by perfect shuffles of their rows
    (Stone, "Parallel Processing with the Perfect Shuffle", 1971), then the square of blocks, by
    their inverses: the processor does either twice as fast as a shuffle of any lanes.

    Args:
        scalar: MLIR type of a lane.
    """
    count, width = len(rows), _block_width(len(rows), scalar)
    masks = [_interleaved(count, width, 1, half) for half in range(2)]
    squares: list[list[str]] = []
    for first in range(0, count, width):
        square = list(rows[first : first + width])
        for _ in range(width.bit_length() - 1):
            pairs = list(zip(square[: width // 2], square[width // 2 :], strict=True))
            square = [_shuffle(b, pair, mask, scalar) for pair in pairs for mask in masks]
        squares.append(square)
    masks = [_every_other(count, width, part) for part in range(2)]
    columns = [""] * count
    for j in range(width):
        blocks = [square[j] for square in squares]
        for _ in range(len(blocks).bit_length() - 1):
            pairs = list(zip(blocks[::2], blocks[1::2], strict=True))
            blocks = [_shuffle(b, pair, mask, scalar) for mask in masks for pair in pairs]
        columns[j::width] = blocks
    return columns


def woven_rows(b: Builder, rows: Sequence[str], lanes: int, scalar: str) -> list[str]:
    """The elements of some vectors, a power of two, in the order of their columns: the first of
    each, then the second of each. As many vectors, by perfect shuffles of all of them.

    Args:
        scalar: MLIR type of a lane.
    """
    halves = [_interleaved(lanes, lanes, 1, half) for half in range(2)]
    current = list(rows)
    for _ in range(len(rows).bit_length() - 1):
        pairs = zip(current[: len(rows) // 2], current[len(rows) // 2 :], strict=True)
        current = [_shuffle(b, pair, mask, scalar) for pair in pairs for mask in halves]
    return current


def sums_of_lanes(b: Builder, vectors: Sequence[str], scalar: str) -> str:
    """One vector whose lane i is the sum of the lanes of vectors[i], which are as many as lanes and
    a power of two.

    Args:
        scalar: MLIR type of a lane, a float.
    """
    count, width = len(vectors), _block_width(len(vectors), scalar)
    current = list(vectors)
    for masks in _halvings(count, width):
        pairs = list(zip(current[::2], current[1::2], strict=True))
        halves = [[_shuffle(b, pair, mask, scalar) for mask in masks] for pair in pairs]
        kind = f"vector<{count}x{scalar}>"
        current = [b.op(f"arith.addf {low}, {high} : {kind}") for low, high in halves]
    return current[0]


def _halvings(count: int, width: int) -> Iterator[list[list[int]]]:
    """Masks of the two halves of the lanes of a pair of vectors, which then take one's place."""
    run = 1
    while run < width:
        yield [_interleaved(count, width, run, half) for half in range(2)]
        run *= 2
    for _ in range((count // width).bit_length() - 1):
        yield [_every_other(count, width, part) for part in range(2)]


def _block_width(count: int, scalar: str) -> int:
    """Lanes of a block of a vector of `count`."""
    bits = re.search(r"\d+", scalar)
    return min(count, _BLOCK_BITS // int(bits[0])) if bits else count


def _interleaved(count: int, width: int, run: int, half: int) -> list[int]:
    """Lanes of two vectors in turn, `run` at a time: those of one half of each block."""
    return [
        other + block + first + lane
        for block in range(0, count, width)
        for first in range(half * width // 2, (half + 1) * width // 2, run)
        for other in (0, count)
        for lane in range(run)
    ]


def _every_other(count: int, width: int, part: int) -> list[int]:
    """Lanes of every other block of two vectors, from block `part` on."""
    return [
        block + lane for block in range(part * width, 2 * count, 2 * width) for lane in range(width)
    ]


def _shuffle(b: Builder, pair: Sequence[str], lanes: Sequence[int], scalar: str) -> str:
    vector = f"vector<{len(lanes)}x{scalar}>"
    return b.op(f"vector.shuffle {pair[0]}, {pair[1]} {list(lanes)} : {vector}, {vector}")
