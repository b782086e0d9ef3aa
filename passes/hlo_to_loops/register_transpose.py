"""Squares of vectors turned in registers."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.builder import Builder


def transpose_square(b: Builder, rows: Sequence[str], scalar: str) -> list[str]:
    """The columns of a square of `len(rows)` vectors of as many lanes, a power of two.

    Each of log2(n) rounds exchanges halves of pairs of rows at a distance of 1, 2, 4, ...:
    n log2(n) shuffles of two vectors (Eklundh, "A Fast Computer Method for Matrix Transposing",
    1972).
    """
    count = len(rows)
    vector = f"vector<{count}x{scalar}>"
    current, distance = list(rows), 1
    while distance < count:
        for i in range(count):
            if i & distance:
                continue
            first, second = current[i], current[i + distance]
            low = [(lane - distance) + count if lane & distance else lane for lane in range(count)]
            high = [lane + count if lane & distance else lane + distance for lane in range(count)]
            current[i], current[i + distance] = (
                b.op(f"vector.shuffle {first}, {second} {mask} : {vector}, {vector}")
                for mask in (low, high)
            )
        distance *= 2
    return current
