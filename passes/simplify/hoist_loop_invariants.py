"""What a loop computes anew, though nothing in it changes, is computed before it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.tensor_types import bit_width, is_tensor, size_of
from hlo.passes.rewrite.walk import body_of, operations, operations_named
from hlo.passes.simplify.dead_code import has_effects

# Cheaper to compute than to load: they move only when something that moves needs them.
_CHEAP = frozenset(
    {
        "hlo.constant",
        "hlo.iota",
        "hlo.broadcast_in_dim",
        "hlo.reshape",
        "hlo.optimization_barrier",
    }
)
# Worth computing once even if the result takes more memory than the operands.
_COSTLY = frozenset(
    f"hlo.{name}"
    for name in [
        "dot_general",
        "convolution",
        "reduce",
        "reduce_window",
        "sort",
        "fft",
        "custom_call",
        "scatter",
        "gather",
        "select_and_scatter",
        "while",
        "exponential",
        "exponential_minus_one",
        "log",
        "log_plus_one",
        "logistic",
        "tanh",
        "sine",
        "cosine",
        "tan",
        "power",
        "sqrt",
        "rsqrt",
        "cbrt",
        "atan2",
        "erf",
        "erfc",
        "erf_inv",
        "lgamma",
        "digamma",
    ]
)


@dataclass(frozen=True)
class HoistLoopInvariants(Pass):
    """Moves ops of a loop's body in front of the loop if all that they read is defined outside.

    An op moves when its result is no larger than what it reads, or when it is costly: a mask that
    is cheaper to compute than to load stays. Ops have no effects and terminate, so that a loop that
    runs no time may compute them all the same.

        hlo.while(...) do { %t = hlo.transpose %w ...; %y = hlo.dot_general %x, %t }
      ==>
        %t = hlo.transpose %w ...
        hlo.while(...) do { %y = hlo.dot_general %x, %t }
    """

    def run(self, module: ir.Module) -> bool:
        """Inner loops first, so that an invariant can leave several."""
        changed = False
        for loop in reversed(operations_named(module, {"hlo.while"})):
            changed |= _hoist(loop)
        return changed


def _hoist(loop: ir.Operation) -> bool:
    body = body_of(loop, 1)
    inside: set[ir.Value] = set(body.arguments)
    invariant: list[ir.Operation] = []
    for view in list(body.operations)[:-1]:
        op = view.operation
        if (
            len(op.results)
            and _may_move(op)
            and not any(value in inside for value in _values_read(op))
        ):
            invariant.append(op)
        else:
            inside.update(op.results)
    moving: set[ir.Value] = set()  # by first result: an op's hash changes with its operands
    needed: set[ir.Value] = set()
    for op in reversed(invariant):
        wanted = any(result in needed for result in op.results)
        if wanted or _is_worthwhile(op):
            moving.add(op.results[0])
            needed |= _values_read(op)
    # A cheap op that stays in use in the loop is copied rather than kept in memory.
    moved = [op for op in invariant if op.results[0] in moving]
    for op in moved:
        if op.name in _CHEAP and _used_in(op, moving):
            _copy_for_movers(op, loop, moving)
        else:
            op.move_before(loop)
    return any(op.name not in _CHEAP for op in moved)


def _may_move(op: ir.Operation) -> bool:
    return not has_effects(op) and op.name != "hlo.optimization_barrier"


def _values_read(op: ir.Operation) -> set[ir.Value]:
    """What an op and the ops in it read of what is defined around it."""
    if not len(op.regions):
        return set(op.operands)
    inner = operations(op)
    defined = {result for each in inner[1:] for result in each.results}
    defined |= {a for each in inner for region in each.regions for a in region.blocks[0].arguments}
    return {value for each in inner for value in each.operands} - defined


def _is_worthwhile(op: ir.Operation) -> bool:
    if op.name in _CHEAP:
        return False
    if op.name in _COSTLY:
        return True
    return _bytes(op.results) <= sum(_bytes([value]) for value in op.operands)


def _bytes(values: ir.OpResultList | list[ir.Value]) -> int:
    total = 0
    for value in values:
        if is_tensor(value.type):
            kind = ir.RankedTensorType(value.type)
            total += size_of(kind.shape) * max(1, bit_width(kind.element_type) // 8)
    return total


def _used_in(op: ir.Operation, moving: set[ir.Value]) -> bool:
    """Whether an op that stays uses a result."""
    return any(
        not _moves(use.owner.operation, op, moving) for result in op.results for use in result.uses
    )


def _moves(user: ir.Operation, op: ir.Operation, moving: set[ir.Value]) -> bool:
    """Whether a user of `op`, or the op of `op`'s block that holds it, is among those that move."""
    block = op.block
    while user.block != block:
        parent = user.parent
        assert parent is not None  # the block of `op` holds every user
        user = parent.operation
    return len(user.results) > 0 and user.results[0] in moving


def _copy_for_movers(op: ir.Operation, loop: ir.Operation, moving: set[ir.Value]) -> None:
    copy = op.clone(ip=ir.InsertionPoint(loop))
    for result, copied in zip(op.results, copy.results, strict=True):
        users = [use.owner.operation for use in result.uses]
        for user in users:
            if _moves(user, op, moving):
                user.replace_uses_of_with(result, copied)
