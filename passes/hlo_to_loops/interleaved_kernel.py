"""A loop nest whose innermost dimension is shorter than a vector: lanes along the one before it.

One vector is computed for each index of the innermost dimension, as when the channels of an image
move last, and as many vectors of the result are woven from them by shuffles.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder, Value
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region
from hlo.passes.hlo_to_loops.kernel_function import Kernel, argument_buffers, kernel_of
from hlo.passes.hlo_to_loops.loop_kernel import WOVEN_ROW, Width, emitter_for, has_fold
from hlo.passes.hlo_to_loops.wide_vectors import is_dear

# Vectors woven together, at the most: of dear or moved elements; and where little is done, so
# that rows of more elements are better taken as parts of a vector. WOVEN_ROW: of folded rows.
WIDEST_DEAR, WIDEST_LIGHT = 7, 5
WIDEST_MERGED = 8  # of several dimensions, where the alternative is an element at a time
BLOCK = 1024  # lanes of one work unit


def emit_interleaved(region: Region, width: Width) -> Kernel:
    """The kernel of a region whose folds, if it has any, are those of a few elements.

    Raises:
        NotVectorizableError: the innermost dimension is not a short one behind a long one.
    """
    inputs, outputs = argument_buffers(region)
    builder = Builder()
    em = emitter_for(region, builder, inputs, width)
    em.unrolled = em.apart = WOVEN_ROW
    size = region.results[0].size
    if any(root.size != size for root in region.results):
        raise NotVectorizableError("results of different sizes")
    extents = merge_cuts({cut for root in region.results for cut in em.cuts(root)}, size)
    if width.merged:
        extents = _merged(extents)
    if (
        len(extents) < 2
        or not 1 < extents[-1] <= _widest_inner(region, size, width)
        or extents[-2] < width.lanes
        or any(t.type.parts != 1 for t in region.results)
    ):
        raise NotVectorizableError("the innermost dimension is not short behind a long one")
    *outer, across, inner = extents
    blocks = -(-across // BLOCK)
    units = math.prod(outer) * blocks

    def values_at(offset: Affine) -> list[Value]:
        return [em.element(root, Position.of_offset(offset)) for root in region.results]

    b = builder
    with b.loop("%begin", "%end", b.index(1)) as loop:
        unit = em.variable(loop.iv, units) if units > 1 else ZERO
        *leading, block = em.dims(Position.of_offset(unit), (*outer, blocks))
        base = ZERO
        for index, stride in zip(leading, suffix_products(extents), strict=False):
            base = base + index * stride
        first = em.index(block * BLOCK)
        stop = b.op(f"arith.addi {first}, {b.index(BLOCK)} : index")
        whole = b.op(f"arith.minsi {stop}, {b.index(across // width.lanes * width.lanes)} : index")
        with b.loop(first, whole, b.index(width.lanes)) as lanes:
            at = base + em.variable(lanes.iv, across) * inner
            with em.vector(lanes.iv, width.lanes):
                columns = [values_at(at + c) for c in range(inner)]
                for k, buffer in enumerate(outputs):
                    _store(em, [column[k] for column in columns], buffer, at)
        end = b.op(f"arith.minsi {stop}, {b.index(across)} : index")
        rest = b.op(f"arith.maxsi {first}, {whole} : index")
        with b.loop(rest, end, b.index(1)) as one:
            at = base + em.variable(one.iv, across) * inner
            for c in range(inner):
                for value, buffer in zip(values_at(at + c), outputs, strict=True):
                    em.store(value, buffer, at + c)
    return kernel_of(builder, inputs.values(), outputs, units)


def _merged(extents: Sequence[int]) -> Sequence[int]:
    """Extents whose last ones, as far as they are short together, are one."""
    while len(extents) > 2 and extents[-2] * extents[-1] <= WIDEST_MERGED:
        extents = (*extents[:-2], extents[-2] * extents[-1])
    return extents


def _widest_inner(region: Region, size: int, width: Width) -> int:
    """The longest innermost dimension that is better woven from vectors."""
    if width.merged:
        return WIDEST_MERGED
    if has_fold(region):
        return WOVEN_ROW
    moves = any(node.name == "transpose" for node in region.nodes)
    return WIDEST_DEAR if moves or is_dear(region, size) else WIDEST_LIGHT


def _store(em: Emitter, columns: Sequence[Value], buffer: Buffer, at: Affine) -> None:
    """Stores the elements of several vectors in turn: the first of each, the second of each, ..."""
    b, lanes = em.b, em.b.lanes
    vector = f"vector<{lanes}x{buffer.type.memory}>"
    raws = [elementwise.pack(b, column)[0] for column in columns]
    for k, raw in enumerate(woven(b, raws, vector)):
        base = em.index(at + k * lanes)
        b.effect(f"vector.store {raw}, {buffer.name}[{base}] : {buffer.memref}, {vector}")


def woven(b: Builder, raws: Sequence[str], vector: str) -> Generator[str]:
    """The elements of several vectors in turn, as many vectors: the first of each, the second ...

    Args:
        vector: the MLIR type of each.
    """
    lanes, count = b.lanes, len(raws)
    for k in range(count):
        places = [divmod(k * lanes + lane, count) for lane in range(lanes)]
        found = raws[0]
        for c in range(1, count):
            # Lanes already in place stay; those of column c come from it; others are not yet known.
            chosen = [
                (lanes + place if column == c else lane if c > 1 else place)
                for lane, (place, column) in enumerate(places)
            ]
            found = b.op(
                f"vector.shuffle {found}, {raws[c]} [{', '.join(map(str, chosen))}] : "
                f"{vector}, {vector}"
            )
        yield found
