"""Finds ops in a module and replaces them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from hlo import ir
from hlo.diagnostics import CompileError, UnsupportedError
from hlo.passes.rewrite.builder import Builder

CONTROL_FLOW = frozenset({"hlo.while", "hlo.if", "hlo.case"})

Expansion: TypeAlias = Callable[[ir.Operation, Builder], "Sequence[ir.Value] | None"]


def operations(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """A module or an op and every op in it, outer ones first, in order."""
    return ir.operations_in(module.operation)


def operations_named(module: ir.Module, names: Collection[str]) -> list[ir.Operation]:
    """The ops with one of these names, outer ones first, in order."""
    return ir.operations_named(module.operation, names)


def operands_of(op: ir.Operation) -> list[ir.Value]:
    """What an op reads. The end of an iteration over MLIR's own list is an exception of C++, which
    costs as much as five values.
    """
    operands = op.operands
    return [operands[i] for i in range(len(operands))]


def results_of(op: ir.Operation) -> list[ir.OpResult]:
    """What an op computes; a list for the reason that `operands_of` gives."""
    results = op.results
    return [results[i] for i in range(len(results))]


def reads_from_outside(op: ir.Operation) -> list[tuple[ir.Operation, int, ir.Value]]:
    """(reader, operand number, value) of each value from outside that an op or its regions read."""
    if not len(op.regions):
        return [(op, i, value) for i, value in enumerate(operands_of(op))]
    reads: list[tuple[ir.Operation, int, ir.Value]] = []
    inside: set[ir.Value] = set()
    for inner in operations(op):
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        inside.update(results_of(inner))
        reads += [(inner, i, value) for i, value in enumerate(operands_of(inner))]
    return [read for read in reads if read[2] not in inside]


class ValuesRead:
    """What ops and the ops in them read of what is defined around them, found once for an op with
    regions: what changes what such an op reads, or erases ops, says so.
    """

    def __init__(self) -> None:
        self._found: dict[ir.Value, set[ir.Value]] = {}  # by first result

    def of(self, op: ir.Operation) -> set[ir.Value]:
        """The values, which nobody changes."""
        found = set(operands_of(op))
        if not len(op.regions):
            return found
        known = self._found.get(op.results[0]) if len(op.results) else None
        if known is not None:
            return known
        inside: set[ir.Value] = set()
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.arguments)
                for view in block.operations:
                    found |= self.of(view.operation)
                    inside.update(results_of(view.operation))
        found -= inside
        if len(op.results):
            self._found[op.results[0]] = found
        return found

    def forget(self, op: ir.Operation) -> None:
        """An op, or one in it, reads something else from now on."""
        if len(op.results):
            self._found.pop(op.results[0], None)

    def forget_all(self) -> None:
        """Ops were erased."""
        self._found.clear()


def replace(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Puts values in the place of an op's results and erases the op."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def expand(module: ir.Module, table: Mapping[str, Expansion]) -> bool:
    """Replaces each op named in the table by what its expansion builds in front of it.

    Inner ops go first, so that an expansion finds its regions expanded. An expansion that returns
    None leaves its op. Returns whether an op was replaced.
    """
    changed = False
    for op in reversed(operations_named(module, table)):
        values = table[op.name](op, Builder.before(op))
        if values is not None:
            replace(op, values)
            changed = True
    return changed


def functions(module: ir.Module) -> dict[str, ir.Operation]:
    """The functions of a module by name, in order; declarations without a body are none."""
    return {
        ir.attributes.string(op, "sym_name"): op.operation
        for op in module.body.operations
        if op.operation.name == "func.func" and op.operation.regions[0].blocks
    }


def function_around(op: ir.Operation) -> ir.Operation:
    """The function that an op is in."""
    while op.name != "func.func":
        around = op.parent
        assert around is not None, "an op is in a function"
        op = around.operation
    return op


def body_of(op: ir.Operation, region: int = 0) -> ir.Block:
    """The block of a region that has one."""
    return op.regions[region].blocks[0]


def terminator_of(block: ir.Block) -> ir.Operation:
    """The last op of a block."""
    return block.operations[len(block.operations) - 1].operation


def sort_by_dependence(block: ir.Block) -> None:
    """Moves ops behind those whose results they need, and leaves their order otherwise.

    Dependences must not be circular.
    """
    ops = [op.operation for op in block.operations]
    number: dict[ir.Value, int] = {v: i for i, op in enumerate(ops) for v in results_of(op)}
    waiting = [0] * len(ops)
    readers: list[list[int]] = [[] for _ in ops]
    for i, op in enumerate(ops):
        needed = {number[v] for _, _, v in reads_from_outside(op) if v in number}
        waiting[i] = len(needed)
        for k in needed:
            readers[k].append(i)
    waiting[-1] = max(waiting[-1], 1)  # the terminator stays the last
    ready = [i for i, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for i in readers[order[-1]]:
            waiting[i] -= 1
            if not waiting[i] and i != len(ops) - 1:
                heapq.heappush(ready, i)
    assert len(order) == len(ops) - 1, "ops of a block need one another's results"
    if order == list(range(len(order))):
        return
    for before, after in itertools.pairwise(order):
        ops[after].move_after(ops[before])


def unsupported(op: ir.Operation, message: str) -> UnsupportedError:
    """An error about a valid op that cannot be compiled."""
    return UnsupportedError(message, op=op.name, location=str(op.location))


def malformed(op: ir.Operation, message: str) -> CompileError:
    """An error about an op that means nothing."""
    return CompileError(message, op=op.name, location=str(op.location))
