"""unroll-rotations: a loop whose carries change places is unrolled until all are back at theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.transfers import bytes_of
from hlo.passes.hlo_to_host.carried import carried_through
from hlo.passes.hlo_to_loops.graph import Node, Region, reading, users
from hlo.passes.memory.block_problem import written_over
from hlo.passes.rewrite.builder import BodyFunction, Builder
from hlo.passes.rewrite.inlining import copy_block_before
from hlo.passes.rewrite.walk import body_of, functions, operations, operations_named, terminator_of
from hlo.passes.simplify.analyze_trip_counts import TRIP_COUNT
from hlo.passes.simplify.dead_code import has_effects

VIEWS = ("hlo.reshape", "hlo.optimization_barrier")


@dataclass(frozen=True)
class UnrollRotations(Pass):
    """Unrolls loops in which a carry becomes another carry, as time steps of waves do.

    A carry lives in one buffer, so one that becomes another is copied in every iteration. In as
    many iterations as carries take turns, every one is back in its buffer and nothing is copied.
    The iterations left over run ahead of the loop.

    A carry whose next value cannot be computed over the old one, as that of a stencil, takes turns
    with a buffer beside it: of two iterations the second computes it where it lives.

    Where the trip count is not known, each further iteration runs if the loop's condition holds
    then; a loop that ends in between changes carries round once. The condition is the same again
    when the loop looks at it, so that it ends.

    Requires: `analyze-trip-counts` ran.
    Guarantees: the same iterations in the same order.

        while(%a, %b) trip_count = 21         %c = f(%x, %y)
          { return %b, f(%a, %b) }       ==>  while(%a = %y, %b = %c) trip_count = 10
                                                { %d = f(%a, %b); %e = f(%b, %d); return %d, %e }

        while(%a, %b) cond p(%a, %b)          while(%a, %b) cond p(%a, %b)
          { return %b, f(%a, %b) }       ==>    { %d = f(%a, %b)
                                                  return if p(%b, %d) { %d, f(%b, %d) }
                                                         else { %b, %d } }

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
        loops = operations_named(module, {"hlo.while"})
        beside = self._beside(module) if loops else set[ir.Operation]()
        for loop in reversed(loops):
            changed |= self._unrolled(loop, loop in beside)
        return changed

    def _beside(self, module: ir.Module) -> set[ir.Operation]:
        """The loops with carries that are computed beside the old value and would be copied."""
        found: set[ir.Operation] = set()
        for function in functions(module).values():
            with reading(body_of(function)) as region:
                for node in _loops(region):
                    if sum(_copied_bytes(node.regions[1])) >= self.least_bytes:
                        found.add(node.source)
        return found

    def _unrolled(self, loop: ir.Operation, is_beside: bool) -> bool:
        turns = self._turns(loop)
        if is_beside and turns == 1:
            turns = 2
        size = len(operations(loop))
        if not 2 <= turns <= self.most_copies:
            return False
        if TRIP_COUNT in loop.attributes:
            count = ir.attributes.integer(loop, TRIP_COUNT, 0)
            if count < 2 * turns or size * (turns + count % turns) > self.max_ops:
                return False
            _unroll_counted(loop, turns, count)
            return True
        if size * turns > self.max_ops or has_effects(loop):
            return False
        _unroll_conditional(loop, turns)
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


def _loops(region: Region) -> Iterator[Node]:
    for node in region.nodes:
        for inner in node.regions:
            yield from _loops(inner)
        if node.name == "while":
            yield node


def _copied_bytes(body: Region) -> Iterator[int]:
    """Bytes of each carry whose next value is computed while the old one is still read."""
    position = {node: i for i, node in enumerate(body.nodes)}
    readers = users(body.nodes)
    for old, new in zip(body.arguments, body.results, strict=True):
        maker = new.producer
        if maker is None or maker not in position or old not in readers:
            continue
        is_last = all(position[reader] <= position[maker] for reader in readers[old])
        over = (old, new) in (*carried_through(maker), *written_over(maker))
        if maker in readers[old] and not (is_last and over):
            yield bytes_of(new)


def _unroll_counted(loop: ir.Operation, turns: int, count: int) -> None:
    """`turns` iterations become one; those left over run ahead of the loop."""
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


def _unroll_conditional(loop: ir.Operation, turns: int) -> None:
    """`turns` iterations become one, each but the first if the condition holds then."""
    with ir.InsertionPoint(loop):
        template = loop.operation.clone()
    end = terminator_of(body_of(loop, 1))
    for _ in range(turns - 1):
        values = list(end.operands)
        (goes_on,) = copy_block_before(template, 0, values, end)
        builder = Builder.before(end)
        choice = builder.create("hlo.if", [goes_on], [v.type for v in values], regions=2)
        builder.fill(choice.regions[0], [], lambda _, __: [])
        builder.fill(choice.regions[1], [], _handing_on(values))
        for i, value in enumerate(choice.results):
            end.operands[i] = value
        inner = terminator_of(body_of(choice, 0))
        values = copy_block_before(template, 1, values, inner)
        with inner.location, ir.InsertionPoint(inner):
            end = ir.Operation.create("hlo.return", operands=values)
        inner.erase()
    template.erase()


def _handing_on(values: Sequence[ir.Value]) -> BodyFunction:
    return lambda _, __: values


def _root(value: ir.Value) -> ir.Value:
    """The value whose elements a view shows."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        op = value.owner.operation
        value = op.operands[list(op.results).index(value)]
    return value


def _bytes(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ir.types.to_dtype(kind.element_type).itemsize
