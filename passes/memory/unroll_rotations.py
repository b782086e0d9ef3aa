"""unroll-rotations: a loop whose carries change places is unrolled until all are back at theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.inlining import copy_block_before
from hlo.passes.rewrite.walk import body_of, operations, operations_named, terminator_of
from hlo.passes.simplify.analyze_trip_counts import TRIP_COUNT

VIEWS = ("hlo.reshape", "hlo.optimization_barrier")


@dataclass(frozen=True)
class UnrollRotations(Pass):
    """Unrolls loops in which a carry becomes another carry, as time steps of waves do.

    A carry lives in one buffer, so one that becomes another is copied in every iteration. In as
    many iterations as carries take turns, every one is back in its buffer and nothing is copied.
    The iterations left over run ahead of the loop.

    Requires: `analyze-trip-counts` ran; loops of unknown trip count stay.
    Guarantees: the same iterations in the same order.

        while(%a, %b) trip_count = 21         %c = f(%x, %y)
          { return %b, f(%a, %b) }       ==>  while(%a = %y, %b = %c) trip_count = 10
                                                { %d = f(%a, %b); %e = f(%b, %d); return %d, %e }

    Attributes:
        most_copies: the most iterations that become one.
        max_ops: the most ops that a body may have afterwards.
        least_bytes: carries that take turns must have as many together.
    """

    most_copies: int = 4
    max_ops: int = 400
    least_bytes: int = 4096

    def run(self, module: ir.Module) -> bool:
        changed = False
        for loop in reversed(operations_named(module, {"hlo.while"})):
            changed |= self._unrolled(loop)
        return changed

    def _unrolled(self, loop: ir.Operation) -> bool:
        count = ir.attributes.integer(loop, TRIP_COUNT, 0)
        turns = self._turns(loop)
        size = len(operations(loop))
        if turns < 2 or count < 2 * turns or turns > self.most_copies:
            return False
        if size * (turns + count % turns) > self.max_ops:
            return False
        values = list(loop.operands)
        for _ in range(count % turns):
            values = copy_block_before(loop, 1, values, loop)
        for i, value in enumerate(values):
            loop.operands[i] = value
        terminator = terminator_of(body_of(loop, 1))
        with ir.InsertionPoint(loop):
            template = loop.operation.clone()
        values = list(terminator.operands)
        for _ in range(turns - 1):
            values = copy_block_before(template, 1, values, terminator)
        for i, value in enumerate(values):
            terminator.operands[i] = value
        template.erase()
        loop.attributes[TRIP_COUNT] = Builder.before(loop).integer(count // turns)
        return True

    def _turns(self, loop: ir.Operation) -> int:
        """After how many iterations every carry's content is in its own buffer again."""
        arguments = list(body_of(loop, 1).arguments)
        source: dict[int, int] = {}  # carry -> the carry that becomes it
        for i, value in enumerate(terminator_of(body_of(loop, 1)).operands):
            root = _root(value)
            if root in arguments and arguments.index(root) != i:
                source[i] = arguments.index(root)
        if len(set(source.values())) < len(source):
            return 1  # a carry becomes two: one of them is a copy in any case
        if sum(_bytes(arguments[i]) for i in source) < self.least_bytes:
            return 1
        turns, seen = 1, set[int]()
        for i in source:
            if i in seen:
                continue
            group = {i}
            for step in (source, {value: key for key, value in source.items()}):
                at = i
                while at in step and step[at] not in group:
                    at = step[at]
                    group.add(at)
            seen |= group
            turns = math.lcm(turns, len(group))
        return turns


def _root(value: ir.Value) -> ir.Value:
    """The value whose elements a view shows."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        op = value.owner.operation
        value = op.operands[list(op.results).index(value)]
    return value


def _bytes(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ir.types.to_dtype(kind.element_type).itemsize
