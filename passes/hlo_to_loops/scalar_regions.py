"""Regions on scalars: reducers, comparators, what a scatter or a window combines."""

from __future__ import annotations

from collections.abc import Sequence

from hlo.diagnostics import UnsupportedError
from hlo.passes.hlo_to_loops import elementwise
from hlo.passes.hlo_to_loops.affine import Position
from hlo.passes.hlo_to_loops.builder import Value
from hlo.passes.hlo_to_loops.emitter import Emitter
from hlo.passes.hlo_to_loops.graph import Region, Tensor


def apply(em: Emitter, region: Region, arguments: Sequence[Value]) -> list[Value]:
    """Evaluates a region on rank-0 tensors at the current width."""
    known: dict[Tensor, Value] = dict(zip(region.arguments, arguments, strict=True))
    for node in region.nodes:
        result = node.results[0]
        if node.name == "constant":
            known[result] = em.constant(node)
            continue
        operands = [_captured(em, known, operand) for operand in node.operands]
        if node.name in ("reshape", "broadcast_in_dim", "transpose") and result.size == 1:
            known[result] = operands[0]
            continue
        emit = elementwise.EMITTERS.get(node.name)
        if emit is None:
            raise UnsupportedError(
                "this op is not supported inside a reducer or comparator",
                op=f"hlo.{node.name}", location=node.location,
            )  # fmt: skip
        known[result] = emit(em.b, operands, result.type, node.attributes)
    return [_captured(em, known, result) for result in region.results]


def _captured(em: Emitter, known: dict[Tensor, Value], tensor: Tensor) -> Value:
    """A value of the region, or a scalar captured from around it."""
    if (value := known.get(tensor)) is not None:
        return value
    lanes = em.b.lanes
    with em.scalar():
        value = em.element(tensor, Position.of_dims(()))
    return em.splat(value, lanes) if lanes else value
