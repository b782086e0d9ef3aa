"""join-around-updates: what surrounds an update made of its neighbours is joined to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.ir.constants import splat_value
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.rewrite import elementwise
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.rewrite.walk import operations_named

_UPDATE = "hlo.dynamic_update_slice"
# What a kernel computes on the way from slices to an update.
_ON_THE_WAY = elementwise.ELEMENTWISE | {
    "hlo.broadcast_in_dim", "hlo.concatenate", "hlo.pad", "hlo.reshape", "hlo.slice"
}  # fmt: skip
_MOST_OPS = 100  # that are looked at
_PART = 2  # an update of less than this part of its tensor is cheaper in place


@dataclass(frozen=True)
class JoinAroundUpdates(Pass):
    """Rewrites an update of most of a tensor, computed of slices that lie elsewhere in it, as a
    concatenation of the update with what is around it.

    In place, an update must not read what it overwrites: each slice would be copied first. A step
    of a difference scheme on the inside of a grid is of this form, and is one kernel then.

    Requires: the core op set, static shapes. The update begins at constants.
    Guarantees: the same elements.

        %a = hlo.slice %x [0:8, 0:6] : tensor<8x6xf32>
        %b = hlo.slice %x [0:8, 2:8] : tensor<8x6xf32>
        %u = hlo.add %a, %b
        %r = hlo.dynamic_update_slice %x, %u, %0, %1 : tensor<8x8xf32>
      ==>
        %left = hlo.slice %x [0:8, 0:1]
        %right = hlo.slice %x [0:8, 7:8]
        %r = hlo.concatenate %left, %u, %right, dim = 1 : tensor<8x8xf32>
    """

    def run(self, module: ir.Module) -> bool:
        changed = False
        for op in operations_named(module, {_UPDATE}):
            starts = _constant_starts(op)
            if starts is None or not _is_most(op) or not _reads_elsewhere(op, starts):
                continue
            op.results[0].replace_all_uses_with(_joined(op, starts))
            op.erase()
            changed = True
        return changed


def _is_most(op: ir.Operation) -> bool:
    whole, part = (math.prod(shape_of(operand)) for operand in (op.operands[0], op.operands[1]))
    return _PART * part >= whole > 0


def _constant_starts(op: ir.Operation) -> list[int] | None:
    """Where an update begins in each dimension, if that is known, clamped as the op clamps it."""
    whole, part = shape_of(op.operands[0]), shape_of(op.operands[1])
    starts: list[int] = []
    for d in range(len(whole)):
        maker = op.operands[2 + d].owner
        if isinstance(maker, ir.Block) or maker.name != "hlo.constant":
            return None
        if (value := splat_value(maker.attributes["value"])) is None:
            return None
        starts.append(min(max(int(value), 0), whole[d] - part[d]))
    return starts


def _reads_elsewhere(op: ir.Operation, starts: Sequence[int]) -> bool:
    """Whether an update is computed of a slice of its tensor that lies elsewhere."""
    tensor, pending, seen = op.operands[0], [op.operands[1]], set[ir.Value]()
    while pending and len(seen) < _MOST_OPS:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        maker = value.owner.operation
        if maker.block != op.block or maker.name not in _ON_THE_WAY:
            continue
        if maker.name == "hlo.slice" and maker.operands[0] == tensor:
            begin = list(decode_attribute(maker.attributes["start_indices"]))
            steps = decode_attribute(maker.attributes["strides"])
            if begin != list(starts) or any(step != 1 for step in steps):
                return True
        pending += list(maker.operands)
    return False


def _joined(op: ir.Operation, starts: Sequence[int]) -> ir.Value:
    builder, tensor, value = Builder.before(op), op.operands[0], op.operands[1]
    whole, part = shape_of(tensor), shape_of(value)
    # The last dimension first: what is around in one dimension has the extent of all behind it.
    for d in reversed(range(len(whole))):
        first = [*starts[:d], *[0] * (len(whole) - d)]
        last = [*(s + n for s, n in zip(starts[:d], part[:d], strict=True)), *whole[d:]]
        end = starts[d] + part[d]
        pieces: list[ir.Value] = []
        if starts[d]:
            pieces.append(builder.slice(tensor, first, [*last[:d], starts[d], *last[d + 1 :]]))
        pieces.append(value)
        if end < whole[d]:
            pieces.append(builder.slice(tensor, [*first[:d], end, *first[d + 1 :]], last))
        if len(pieces) > 1:
            value = builder.concatenate(pieces, d)
    return value
