"""What a loop computes anew, though nothing in it changes, is computed before it."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.tensor_types import bit_width, is_tensor, size_of
from hlo.passes.rewrite.walk import ValuesRead, body_of, operations_named
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
        reads = ValuesRead()
        for loop in reversed(operations_named(module, {"hlo.while"})):
            changed |= _hoist(loop, reads)
        return changed


def _hoist(loop: ir.Operation, reads: ValuesRead) -> bool:
    body = body_of(loop, 1)
    inside: set[ir.Value] = set(body.arguments)
    invariant: list[ir.Operation] = []
    for view in list(body.operations)[:-1]:
        op = view.operation
        if len(op.results) and _may_move(op) and inside.isdisjoint(reads.of(op)):
            invariant.append(op)
        else:
            inside.update(op.results)
    moving: set[ir.Value] = set()  # by first result: an op's hash changes with its operands
    needed: set[ir.Value] = set()
    for op in reversed(invariant):
        wanted = any(result in needed for result in op.results)
        if wanted or _is_worthwhile(op):
            moving.add(op.results[0])
            needed |= reads.of(op)
    # A cheap op that stays in use in the loop is copied rather than kept in memory.
    moved = [op for op in invariant if op.results[0] in moving]
    for op in moved:
        if op.name in _CHEAP and _used_in(op, moving):
            _copy_for_movers(op, loop, moving, reads)
        else:
            op.move_before(loop)
    return any(op.name not in _CHEAP for op in moved)


def _may_move(op: ir.Operation) -> bool:
    return not has_effects(op) and op.name != "hlo.optimization_barrier"


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
        not _moves(_path_to(use.owner.operation, op)[-1], moving)
        for result in op.results
        for use in result.uses
    )


def _path_to(user: ir.Operation, op: ir.Operation) -> list[ir.Operation]:
    """A user of `op` and the ops around it, up to the one in `op`'s block."""
    path = [user]
    while path[-1].block != op.block:
        parent = path[-1].parent
        assert parent is not None  # the block of `op` holds every user
        path.append(parent.operation)
    return path


def _moves(op: ir.Operation, moving: set[ir.Value]) -> bool:
    return len(op.results) > 0 and op.results[0] in moving


def _copy_for_movers(
    op: ir.Operation, loop: ir.Operation, moving: set[ir.Value], reads: ValuesRead
) -> None:
    copy = op.clone(ip=ir.InsertionPoint(loop))
    for result, copied in zip(op.results, copy.results, strict=True):
        for path in [_path_to(use.owner.operation, op) for use in result.uses]:
            if _moves(path[-1], moving):
                path[0].replace_uses_of_with(result, copied)
                for changed in path:
                    reads.forget(changed)
