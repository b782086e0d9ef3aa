"""What a region does along the loops of its space, seen by emitting it once for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, suffix_products
from hlo.passes.hlo_to_loops.buffer import Buffer
from hlo.passes.hlo_to_loops.builder import Builder
from hlo.passes.hlo_to_loops.emitter import Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Region

_CONDITIONAL = frozenset({"concatenate", "pad"})
_MOST_SEGMENTS = 4  # each of them holds the region's code
_MOST_NODES = 32  # of a region that is worth so much code
_FEWEST_VECTORS = 4  # of an innermost loop that is


@dataclass(frozen=True)
class Survey:
    """What one row-major pass over a region's elements meets.

    Attributes:
        loops: the loop variables, outermost first; the last one is the lane variable.
        strided: offsets of the loads with a lane stride other than 1.
        boundaries: where a condition on the lane variable alone changes.
    """

    loops: tuple[str, ...]
    strided: tuple[Affine, ...]
    boundaries: frozenset[int]


def survey(region: Region, extents: Sequence[int], lanes: int) -> Survey:
    """Emits the region's results once, in vectors, over loops of `extents`.

    Raises:
        NotVectorizableError: a lane crosses a row boundary.
    """
    builder = Builder()
    buffers = {t: Buffer(f"%in{i}", t.size, t.type) for i, t in enumerate(region.arguments)}
    em = Emitter(builder, buffers)
    em.gathers, em.strided, em.boundaries = True, [], set()
    names: list[str] = []
    offset = ZERO
    with ExitStack() as stack:
        for extent, stride in zip(extents, suffix_products(extents), strict=True):
            bounds = (builder.index(0), builder.index(extent), builder.index(1))
            loop = stack.enter_context(builder.loop(*bounds))
            names.append(loop.iv)
            offset = offset + em.variable(loop.iv, extent) * stride
        with em.vector(names[-1], lanes):
            for root in region.results:
                em.element(root, Position.of_offset(offset))
    return Survey(tuple(names), tuple(em.strided), frozenset(em.boundaries))


def may_be_cut(extent: int, lanes: int, pieces: int = 1) -> bool:
    """Whether loops over so many segments of an innermost extent are worth their code."""
    return extent >= _FEWEST_VECTORS * lanes and pieces <= _MOST_SEGMENTS


def segments(region: Region, extents: Sequence[int], lanes: int) -> tuple[int, ...]:
    """Where to begin and end loops over the innermost extent such that conditions on their variable
    are known at compile time: 0, ..., the extent.
    """
    extent = extents[-1]
    whole = 0, extent
    if (
        not may_be_cut(extent, lanes)
        or len(region.nodes) > _MOST_NODES
        or not any(node.name in _CONDITIONAL for node in region.nodes)
    ):
        return whole
    try:
        found = survey(region, extents, lanes).boundaries
    except NotVectorizableError:
        return whole
    inside = sorted(place for place in found if 0 < place < extent)
    return (0, *inside, extent) if may_be_cut(extent, lanes, len(inside) + 1) else whole
