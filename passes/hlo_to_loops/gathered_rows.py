"""Fetches the rows of a table that a gather reads next, which no processor foresees."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.passes.hlo_to_loops.affine import Affine, Position
from hlo.passes.hlo_to_loops.emitter import LINE_BYTES, Emitter
from hlo.passes.hlo_to_loops.graph import Tensor
from hlo.passes.hlo_to_loops.index_values import clamped_index
from hlo.passes.hlo_to_loops.lines_ahead import DISTANCE, fetch_lines, is_in_lane_loop


def fetch_row(
    em: Emitter, operand: Tensor, source: Sequence[Affine], dim: int, starts: Tensor,
    place: Position, limit: int,
) -> None:  # fmt: skip
    """Called where lanes of a gathered row are loaded: fetches those of a row some turns later.

    Args:
        source: the position in the operand, but for where the row begins.
        dim: the dimension of the operand in which rows begin anywhere from 0 to `limit`.
        starts, place: the tensor that says where, and the position there of this row.
    """
    buffer, lane = em.buffers.get(operand), em.lane
    if buffer is None or buffer not in em.fetchers or lane is None or not is_in_lane_loop(em):
        return
    row = em.extents[lane] * buffer.type.memory_bytes
    if Position.of_dims(source).linear(operand.shape).coefficient(lane) != 1 or row < LINE_BYTES:
        return
    b, level = em.b, em.lane_level
    later = place.linear(starts.shape) + max(1, DISTANCE // row)
    if not b.can_hoist_to(level) or not all(b.is_visible(v, level) for v in later.variables):
        return
    with b.at_level(level), em.scalar():
        name = b.op(f"arith.minsi {em.index(later)}, {b.index(starts.size - 1)} : index")
        at = Position.of_offset(em.name_index(name, starts.size))
        start = clamped_index(em, starts, at, limit)
    there = [*source]
    there[dim] = there[dim] + start
    fetch_lines(em, buffer, Position.of_dims(there).linear(operand.shape))
