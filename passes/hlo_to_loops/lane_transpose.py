"""Square blocks of vectors, transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.builder import Builder


def transposed_lanes(b: Builder, vectors: Sequence[str], vector: str) -> list[str]:
    """The transpose of a block of n vectors of n lanes, n a power of two, of MLIR type `vector`.

    log2(n) rounds exchange the off-diagonal halves of blocks of 2, 4, ... lanes (the butterfly of
    Eklundh, "A Fast Computer Method for Matrix Transposing", 1972).
    """
    lanes = len(vectors)
    current = list(vectors)
    step = 1
    while step < lanes:
        low = _mask([lane if not lane & step else lanes + lane - step for lane in range(lanes)])
        high = _mask([lane + step if not lane & step else lanes + lane for lane in range(lanes)])
        following = list(current)
        for i in range(lanes):
            if not i & step:
                pair = f"{current[i]}, {current[i + step]}"
                kinds = f"{vector}, {vector}"
                following[i] = b.op(f"vector.shuffle {pair} {low} : {kinds}")
                following[i + step] = b.op(f"vector.shuffle {pair} {high} : {kinds}")
        current = following
        step *= 2
    return current


def _mask(lanes: Sequence[int]) -> str:
    return f"[{', '.join(map(str, lanes))}]"


def sums_of_lanes(b: Builder, vectors: Sequence[str], vector: str) -> str:
    """One vector whose lane i is the sum of the lanes of vectors[i]; as many vectors as lanes."""
    lanes = len(vectors)
    current = list(vectors)
    step = 1
    while step < lanes:
        low = _mask([lane if not lane & step else lanes + lane - step for lane in range(lanes)])
        high = _mask([lane + step if not lane & step else lanes + lane for lane in range(lanes)])
        merged: list[str] = []
        for left, right in zip(current[0::2], current[1::2], strict=True):
            first = b.op(f"vector.shuffle {left}, {right} {low} : {vector}, {vector}")
            second = b.op(f"vector.shuffle {left}, {right} {high} : {vector}, {vector}")
            merged.append(b.op(f"arith.addf {first}, {second} : {vector}"))
        current = merged
        step *= 2
    return current[0]
