"""How often a loop runs, where that is known before it does."""

from __future__ import annotations

from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.unrolling import unrolling
from hlo.passes.hlo_to_loops.graph import node_of
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.inlining import copy_block_before
from hlo.passes.rewrite.tensor_types import element_of, is_integer
from hlo.passes.rewrite.walk import (
    body_of,
    operations,
    operations_named,
    replace,
    terminator_of,
)
from hlo.passes.simplify.ranges import limits_of

TRIP_COUNT = "hlo.trip_count"


@dataclass(frozen=True)
class LoopDecision:
    """Whether a loop that runs a known number of times was opened, and why.

    Attributes:
        location: as MLIR prints it.
    """

    location: str
    opened: bool
    reason: str


@dataclass(frozen=True)
class AnalyzeTripCounts(Pass):
    """Notes on a loop that counts how often its body runs, as the attribute `hlo.trip_count`;
    removes loops that never run, and opens those that run a few times over a few ops, and those
    that the cost model says are faster as one kernel (`cost/unrolling.py`): rounds of a random
    generator, whose carries then never reach memory.

    A loop counts when a carry starts with a constant, changes by a constant in each iteration, and
    the condition compares it with a constant.

        %1:2 = hlo.while(%i = %c0, %x = %0) cond { %i < 8 } do { ... %i + 1 ... }
      ==>
        the same with {hlo.trip_count = 8 : i64}

    Attributes:
        max_unrolled_ops: the most ops that opening a loop may make of it; 0 keeps every loop that
        runs.
        max_fast_ops: the same of loops that are faster open, which run `max_fast_trips` times at
        the most: more code takes longer to compile.
    """

    max_unrolled_ops: int = 32
    max_fast_ops: int = 640
    max_fast_trips: int = 24

    def run(self, module: ir.Module) -> bool:
        return self._run(module, [])

    def decide(self, module: ir.Module) -> list[LoopDecision]:
        """Runs, and gives the decision on every loop that runs a known number of times."""
        decisions: list[LoopDecision] = []
        self._run(module, decisions)
        return decisions

    def _run(self, module: ir.Module, decisions: list[LoopDecision]) -> bool:
        """Inner loops first, so that an opened loop counts as its ops."""
        changed = False
        for loop in reversed(operations_named(module, {"hlo.while"})):
            count = trip_count(loop)
            if count is None:
                continue
            if count == 0:
                replace(loop, list(loop.operands))
                changed = True
                continue
            decisions.append(self._decision(loop, count))
            if decisions[-1].opened:
                _unroll(loop, count)
                changed = True
            elif TRIP_COUNT not in loop.attributes:
                loop.attributes[TRIP_COUNT] = Builder.before(loop).integer(count)
                changed = True
        return changed

    def _decision(self, loop: ir.Operation, count: int) -> LoopDecision:
        opened, reason = self._is_opened(loop, count)
        return LoopDecision(str(loop.location), opened, f"it runs {count} times; {reason}")

    def _is_opened(self, loop: ir.Operation, count: int) -> tuple[bool, str]:
        """(whether a loop is opened, why)."""
        size = count * len(operations(loop))
        if count == 1:
            return True, "its body stands for it"
        if not self.max_unrolled_ops:
            return False, "loops stay as they are"
        if size <= self.max_unrolled_ops:
            return True, f"opened it is {size} ops, no more than {self.max_unrolled_ops}"
        if count > self.max_fast_trips:
            return False, f"those of more than {self.max_fast_trips} iterations stay"
        if size > self.max_fast_ops:
            return False, f"opened it would be {size} ops, more than {self.max_fast_ops}"
        found = unrolling(node_of(loop), count, nested=_is_in_loop(loop))
        if found is None:
            return False, "an iteration is more than one kernel"
        return found.pays, found.reason


def _is_in_loop(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.operation.name != "hlo.while":
        parent = parent.operation.parent
    return parent is not None


def trip_count(loop: ir.Operation) -> int | None:
    """How often the body runs; None if unknown, or if the count would wrap around."""
    condition = body_of(loop, 0)
    (returned,) = terminator_of(condition).operands
    compare = returned.owner
    if isinstance(compare, ir.Block) or compare.operation.name != "hlo.compare":
        return _constant_condition(returned)
    lhs, rhs = compare.operation.operands
    direction = ir.attributes.enum(compare.operation, "comparison_direction")
    if lhs not in list(condition.arguments):
        lhs, rhs = rhs, lhs
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    arguments = list(condition.arguments)
    if lhs not in arguments or not is_integer(element_of(lhs)):
        return None
    index = arguments.index(lhs)
    start, limit = _scalar(loop.operands[index]), _scalar(rhs)
    step = _step(loop, index)
    if start is None or limit is None or step is None:
        return None
    return _count(direction, start, limit, step, limits_of(element_of(lhs)))


def _constant_condition(returned: ir.Value) -> int | None:
    value = _scalar(returned)
    return 0 if value == 0 else None


def _scalar(value: ir.Value) -> int | None:
    """A constant integer or boolean scalar."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "hlo.constant":
        return None
    array = ir.constants.to_numpy(owner.operation.attributes["value"])
    return int(array) if array.size == 1 and array.dtype.kind in "biu" else None


def _step(loop: ir.Operation, index: int) -> int | None:
    """What an iteration adds to a carry."""
    body = body_of(loop, 1)
    argument = body.arguments[index]
    owner = terminator_of(body).operands[index].owner
    if isinstance(owner, ir.Block) or owner.operation.name not in ("hlo.add", "hlo.subtract"):
        return None
    lhs, rhs = owner.operation.operands
    if owner.operation.name == "hlo.subtract":
        amount = _scalar(rhs) if lhs == argument else None
        return None if amount is None else -amount
    if lhs == argument:
        return _scalar(rhs)
    return _scalar(lhs) if rhs == argument else None


def _count(
    direction: str, start: int, limit: int, step: int, bounds: tuple[int, int]
) -> int | None:
    if direction == "LE":
        direction, limit = "LT", limit + 1
    if direction == "GE":
        direction, limit = "GT", limit - 1
    if direction == "NE":
        if step == 0 or (limit - start) % step or (limit - start) // step < 0:
            return 0 if start == limit else None
        return (limit - start) // step
    if direction == "GT":
        start, limit, step = -start, -limit, -step
        bounds = (-bounds[1], -bounds[0])
    elif direction != "LT":
        return None
    if start >= limit:
        return 0
    if step <= 0:
        return None
    count = -(-(limit - start) // step)
    # The last value, which ends the loop, must not wrap around.
    return count if start + count * step <= bounds[1] else None


def _unroll(loop: ir.Operation, count: int) -> None:
    values = list(loop.operands)
    for _ in range(count):
        values = copy_block_before(loop, 1, values, loop)
    replace(loop, values)
