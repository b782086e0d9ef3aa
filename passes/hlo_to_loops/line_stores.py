"""Rows that begin anywhere in a cache line, written past the caches in whole lines all the same.

The rows of a large result whose length is no multiple of a line, such as those of a padded matrix,
begin at another place in a line each. Vectors from a row's beginning then all cross lines, which no
store past the caches may, and an ordinary one reads the line that it writes to: half as much again
goes through memory. So the vectors begin at the first whole line, and what lies ahead of it and
behind the last is stored under masks. No line is stored to in both ways: one that is in a cache
already is written slowly past it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hlo.passes.hlo_to_loops.affine import Affine
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, PLAIN, Emitter, NotVectorizableError
from hlo.passes.hlo_to_loops.graph import Node, Region
from hlo.passes.hlo_to_loops.streaming import go_past_caches

_FEWEST_LINES = 8  # of a row, beside which those at its ends are few
_MOST_NODES = 32  # of a region that is emitted four times

Body = Callable[[Affine], None]


def may_begin_anywhere(region: Region, places: Iterable[int]) -> bool:
    """Whether vectors of a region's elements may begin at any element of a row, and should.

    Args:
        places: where in rows loops over them begin and end: if all at lines, stores do so anyway.
    """
    sizes = {result.type.memory_bytes for result in region.results}
    if len(region.nodes) > _MOST_NODES or not any(
        p * s % LINE_BYTES for p in places for s in sizes
    ):
        return False
    size = sum(result.size * result.type.memory_bytes for result in region.results)
    return go_past_caches(size) and all(_goes_along(node) for node in region.nodes)


def _goes_along(node: Node) -> bool:
    """Whether elements side by side come of such elements, wherever they begin, or of one."""
    if node.name == "pad":
        return not any(node.attributes["interior_padding"])
    return node.name in PLAIN or node.name in ("concatenate", "reduce")


def emit_lines(
    em: Emitter, body: Body, base: Affine, lanes: int, extent: int, registers: int
) -> bool:
    """The innermost loop over a row, if that is written past the caches and begins anywhere.

    Args:
        body: computes and stores the elements at an offset.
        base: the offset of the row, whose `extent` elements the loop goes along.
        registers: of `lanes` lanes each, that are computed together.

    Returns:
        False if such a loop gains nothing or cannot be; then nothing is emitted.
    """
    line = _line_elements(em, lanes)
    if not line or extent < _FEWEST_LINES * line:
        return False
    if not any(c % line for c in (base.constant, *(c for _, c in base.terms))):
        return False
    b, loaded = em.b, {buffer: set(offsets) for buffer, offsets in em.loaded.items()}
    before = b.op(f"arith.andi {em.index(base * -1)}, {b.index(line - 1)} : index")
    place, groups = before, {max(registers * lanes, line), line}
    try:
        for group in sorted(groups, reverse=True):
            place = _whole(em, body, base, (place, extent), group, wide=group > lanes)
    except NotVectorizableError:
        em.loaded = loaded
        return False
    first = b.load(f"arith.addi {b.index(0)}, {b.index(0)} : index")
    behind = b.op(f"arith.subi {b.index(extent)}, {place} : index")
    for start, count in ((first, before), (place, behind)):
        for skipped in range(0, line, lanes):
            _part(em, body, base, (start, count, extent), skipped, lanes)
    return True


def _line_elements(em: Emitter, lanes: int) -> int:
    """Elements of a line of all results that are written past the caches; 0 if there are none, or
    they differ, or a vector has more than a line.
    """
    sizes = {buffer.type.memory_bytes * buffer.type.parts for buffer in em.streams}
    if len(sizes) != 1 or not lanes:
        return 0
    (size,) = sizes
    return LINE_BYTES // size if lanes * size <= LINE_BYTES else 0


def _whole(
    em: Emitter, body: Body, base: Affine, bounds: tuple[str, int], group: int, *, wide: bool
) -> str:
    """A loop over whole lines, `group` elements at a time, from a line on; where it ends."""
    b, (start, extent) = em.b, bounds
    left = b.op(f"arith.subi {b.index(extent)}, {start} : index")
    left = b.op(f"arith.andi {left}, {b.index(-group)} : index")
    end = b.op(f"arith.addi {start}, {left} : index")
    with b.loop(start, end, b.index(group)) as loop:
        em.at_line = base + em.variable(loop.iv, extent)
        try:
            with em.vector(loop.iv, group, wide=wide):
                body(em.at_line)
        finally:
            em.at_line = None
    return end


def _part(
    em: Emitter, body: Body, base: Affine, run: tuple[str, str, int], skipped: int, lanes: int
) -> None:
    """A vector of a run of less than a line, behind `skipped` elements of it.

    Args:
        run: where it begins in the row, how long it is, and how long the row is.
    """
    b, (place, count, extent) = em.b, run
    if skipped:
        place = b.op(f"arith.addi {place}, {b.index(skipped)} : index")
        count = b.op(f"arith.subi {count}, {b.index(skipped)} : index")
    index = em.variable(place, extent)
    with em.vector(place, lanes, b.lanes_below(count, lanes)):
        em.hoist_from_here()
        body(base + index)
