"""Applies rules to ops until none fits: the worklist, and what rules may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.rewrite.walk import operations_named

Array = np.ndarray[Any, np.dtype[Any]]
Replacement: TypeAlias = "ir.Value | Sequence[ir.Value] | None"
Rule: TypeAlias = "Callable[[ir.Operation, Simplifier], Replacement]"

_MOST_STEPS_PER_OP = 64
_MOST_USES = 8  # of a value, that are looked at to see whether all readers are dead


class Simplifier:
    """Runs rules over a module.

    A rule gets an op and returns what its results become, or None when it does not apply. It builds
    ops with `builder`, in front of the op. Ops that lose their uses stay in place until the end, so
    that no handle of an op becomes invalid on the way.
    """

    def __init__(self, rules: Mapping[str, Sequence[Rule]]) -> None:
        self._rules = rules
        # Ops are known by their first result: the hash of an op changes with its operands.
        self._dead: set[ir.Value] = set()
        self._constants: dict[ir.Value, Array | None] = {}
        self._pending: list[ir.Operation] = []
        self._queued: set[ir.Value] = set()
        self._op: ir.Operation
        self._builder: Builder | None = None

    def run(self, module: ir.Module) -> bool:
        """Visits every op, and again those around each change. Says whether anything changed."""
        initial = operations_named(module, self._rules)
        initial.reverse()
        self._pending = initial
        self._queued = {op.results[0] for op in initial}
        budget = _MOST_STEPS_PER_OP * max(len(initial), 16)
        changed = False
        while self._pending and budget:
            op = self._pending.pop()
            key = op.results[0]
            self._queued.discard(key)
            if key in self._dead:
                continue
            rules = self._rules[op.name]
            budget -= 1
            self._op, self._builder = op, None
            for rule in rules:
                replacement = rule(op, self)
                if replacement is not None:
                    self._replace(op, replacement)
                    changed = True
                    break
        return changed

    @property
    def builder(self) -> Builder:
        """Builds in front of the op that a rule looks at."""
        if self._builder is None:
            self._builder = Builder.before(self._op)
        return self._builder

    def _replace(self, op: ir.Operation, replacement: ir.Value | Sequence[ir.Value]) -> None:
        values = [replacement] if isinstance(replacement, ir.Value) else list(replacement)
        users: list[ir.Operation] = []
        for result, value in zip(op.results, values, strict=True):
            users += ir.users_of(result)
            result.replace_all_uses_with(value)
        self._dead.add(op.results[0])
        self._bury(op)
        # Producers come off the stack before their users.
        self._push(users)
        if self._builder is not None:
            self._push(reversed(self._builder.created))

    def _bury(self, op: ir.Operation) -> None:
        """Notes what only a dead op read as dead, so that what that read has a use less."""
        pending = [op]
        while pending:
            for value in pending.pop().operands:
                inner = self.producer(value)
                if inner is None or len(inner.results) != 1 or value in self._dead:
                    continue
                if self._is_unread(value):
                    self._dead.add(value)
                    pending.append(inner)

    def _is_unread(self, value: ir.Value) -> bool:
        users = ir.users_of(value, _MOST_USES + 1)
        return len(users) <= _MOST_USES and all(map(self._is_dead, users))

    def _is_dead(self, op: ir.Operation) -> bool:
        results = op.results
        return len(results) > 0 and results[0] in self._dead

    def _push(self, ops: Sequence[ir.Operation] | Any) -> None:
        for op in ops:
            if op.name not in self._rules:
                continue
            key = op.results[0]
            if key not in self._queued and key not in self._dead:
                self._queued.add(key)
                self._pending.append(op)

    def revisit(self, op: ir.Operation) -> None:
        """Has an op that a rule changed in place, or moved, visited again."""
        self._push([op])

    # ---- What rules ask ----
    def producer(self, value: ir.Value, *names: str) -> ir.Operation | None:
        """The op that computes a value, if it has one of these names."""
        return ir.producer_of(value, names)

    def constant(self, value: ir.Value) -> Array | None:
        """The elements of a constant; a splat is one element broadcast."""
        if value in self._constants:
            return self._constants[value]
        op = self.producer(value, "hlo.constant")
        found = None
        if op is not None:
            try:
                found = ir.constants.to_numpy(op.attributes["value"])
            except TypeError:
                found = None  # an element type that NumPy cannot hold
            self._constants[value] = found
        return found

    def splat(self, value: ir.Value) -> Any | None:
        """The number that a constant repeats, as a NumPy scalar."""
        found = self.constant(value)
        if found is None or found.size == 0:
            return None
        if found.size > 1 and any(
            s for s, n in zip(found.strides, found.shape, strict=True) if n > 1
        ):
            return None
        return found[(0,) * found.ndim]

    def has_one_use(self, value: ir.Value) -> bool:
        """Whether exactly one operand of the program reads a value."""
        first = ir.users_of(value, 2)
        if len(first) == 2 and not any(map(self._is_dead, first)):
            return False
        return sum(not self._is_dead(user) for user in ir.users_of(value)) == 1

    def constant_of(self, array: Array, like: ir.Value) -> ir.Value:
        """A constant with `like`'s element type."""
        kind = ir.RankedTensorType(like.type)
        attribute = ir.constants.from_numpy(array, kind.element_type)
        return self.builder.one("constant", [], attribute.type, {"value": attribute})

    def splat_of(self, number: Any, like: ir.Value) -> ir.Value:
        """A constant of `like`'s type that repeats a NumPy scalar."""
        dtype = ir.types.to_dtype(ir.RankedTensorType(like.type).element_type)
        return self.constant_of(np.broadcast_to(np.asarray(number, dtype), shape_of(like)), like)


class RuleTable:
    """Rules by the name of the op they apply to, in the order they were added."""

    def __init__(self) -> None:
        self._rules: dict[str, list[Rule]] = {}

    def rule(self, *names: str) -> Callable[[Rule], Rule]:
        """A decorator that adds a rule for ops of these names, given without prefix."""

        def add(function: Rule) -> Rule:
            for name in names:
                self._rules.setdefault(f"hlo.{name}", []).append(function)
            return function

        return add

    @property
    def rules(self) -> Mapping[str, Sequence[Rule]]:
        """The table."""
        return self._rules


def merge(*tables: RuleTable) -> dict[str, list[Rule]]:
    """One table of several; rules of earlier tables are tried first."""
    merged: dict[str, list[Rule]] = {}
    for table in tables:
        for name, rules in table.rules.items():
            merged.setdefault(name, []).extend(rules)
    return merged
