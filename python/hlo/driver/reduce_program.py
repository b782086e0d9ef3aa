"""Cuts a program that goes wrong down to a small one that goes wrong in the same way.

What is kept is a set of results, or the results of one operation in their place, and a set of
operations of the entry function. An operation that goes is replaced by arguments, which hold the
values it had: the reference evaluator computes them. Sets are halved and quartered as in delta
debugging (A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002), so
that n operations take about n log n tries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver.module_copy import copy_of
from hlo.importers.program import load_program
from hlo.passes.hlo_to_host.program import entry_of
from hlo.passes.rewrite.signature import set_terminator_operands, update_function_type
from hlo.passes.rewrite.walk import body_of, terminator_of
from hlo.passes.simplify.dead_code import erase_dead_ops
from hlo.reference.evaluate import evaluate


@dataclass(frozen=True)
class Candidate:
    """A program, as text, and its arguments.

    Attributes:
        returned: which results of the original it returns, by position; or the number of the
            operation of the original entry whose results it returns in their place.
    """

    text: str
    arguments: tuple[np.ndarray, ...]
    returned: frozenset[int] | int

    @property
    def operations(self) -> int:
        """Operations of the entry function, the return left out."""
        module = load_program(self.text)
        return len(body_of(entry_of(module)).operations) - 1


def whole_program(module: ir.Module, arguments: Sequence[np.ndarray]) -> Candidate:
    """The program as it is given, with all its results."""
    results = len(terminator_of(body_of(entry_of(module))).operands)
    return Candidate(str(module), tuple(arguments), frozenset(range(results)))


@dataclass
class _Search:
    """The state of a reduction.

    Attributes:
        still_fails: whether a candidate goes wrong in the same way.
        tries: how many more candidates may be asked about.
    """

    module: ir.Module
    arguments: Sequence[np.ndarray]
    still_fails: Callable[[Candidate], bool]
    tries: int
    values: dict[tuple[int, int], np.ndarray] = field(
        default_factory=dict[tuple[int, int], np.ndarray]
    )

    def minimal(self, items: Sequence[int], fails_with: Callable[[set[int]], bool]) -> set[int]:
        """A subset that still fails, of which no single item can go."""
        kept, parts = list(items), 2
        while kept and self.tries > 0:
            size = max(1, len(kept) // parts)
            for start in range(0, len(kept), size):
                left = kept[:start] + kept[start + size :]
                if self.tries > 0 and fails_with(set(left)):
                    kept, parts = left, max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    break
                parts = min(2 * parts, len(kept))
        return set(kept)

    def earliest(self, ops: Sequence[ir.Operation], removable: Sequence[int]) -> int | None:
        """An operation that fails if its results are what the program returns, as early as found;
        None if there is none.
        """
        found, low, high = None, 0, len(removable)
        while low < high and self.tries > 0:
            middle = (low + high) // 2
            if self.fails(removable[middle], set()):
                found = high = middle
            else:
                low = middle + 1
        if found is None:
            return None
        index = removable[found]
        numbers = {result: i for i in removable for result in ops[i].results}
        while self.tries > 0:
            above = [numbers[value] for value in ops[index].operands if value in numbers]
            failing = next((i for i in above if self.fails(i, set())), None)
            if failing is None:
                break
            index = failing
        return index

    def fails(self, returned: set[int] | int, cut: set[int]) -> bool:
        self.tries -= 1
        try:
            candidate = self.candidate(returned, cut)
        except CompileError:  # the reference evaluator does not know an op that is to go
            return False
        return self.still_fails(candidate)

    def candidate(self, returned: set[int] | int, cut: set[int]) -> Candidate:
        """The program with some results, or one operation's, and with operations as arguments."""
        self._evaluate(cut)
        module = copy_of(self.module)
        block = body_of(entry_of(module))
        if isinstance(returned, int):
            values = list(list(block.operations)[returned].operation.results)
        else:
            values = [v for i, v in enumerate(terminator_of(block).operands) if i in returned]
        set_terminator_operands(block, values)
        arguments = self._with_arguments(block, cut)
        erase_dead_ops(module)
        for index in reversed(range(len(arguments))):
            if next(iter(block.arguments[index].uses), None) is None:
                block.erase_argument(index)
                del arguments[index]
        function = entry_of(module)
        for name in ("arg_attrs", "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]
        update_function_type(function, (), ())
        kept = returned if isinstance(returned, int) else frozenset(returned)
        return Candidate(str(module), tuple(arguments), kept)

    def _with_arguments(self, block: ir.Block, cut: set[int]) -> list[np.ndarray]:
        """Puts new arguments in place of the results of operations."""
        arguments = list(self.arguments)
        for index, op in enumerate(list(block.operations)[:-1]):
            for number, result in enumerate(op.operation.results if index in cut else ()):
                new = block.add_argument(result.type, op.location)
                result.replace_all_uses_with(new)
                arguments.append(self.values[index, number])
        return arguments

    def _evaluate(self, cut: set[int]) -> None:
        """Computes the values of operations that are not known yet."""
        missing = sorted(i for i in cut if (i, 0) not in self.values)
        if not missing:
            return
        module = copy_of(self.module)
        block = body_of(entry_of(module))
        ops = list(block.operations)
        wanted = [(i, n) for i in missing for n in range(len(ops[i].operation.results))]
        set_terminator_operands(block, [ops[i].operation.results[n] for i, n in wanted])
        erase_dead_ops(module)
        function = entry_of(module)
        if "res_attrs" in function.attributes:
            del function.attributes["res_attrs"]
        update_function_type(function, range(len(self.arguments)), ())
        with np.errstate(all="ignore"):
            found = evaluate(module, list(self.arguments))
        self.values.update(zip(wanted, map(np.asarray, found), strict=True))


def reduce_program(
    module: ir.Module,
    arguments: Sequence[np.ndarray],
    still_fails: Callable[[Candidate], bool],
    tries: int = 1000,
) -> Candidate:
    """The smallest program found that still goes wrong.

    Args:
        module: a program that goes wrong, with static shapes.
        arguments: of its entry.
        still_fails: whether a candidate goes wrong in the same way.
        tries: most candidates to ask about.
    """
    search = _Search(module, arguments, still_fails, tries)
    block = body_of(entry_of(module))
    ops = [op.operation for op in list(block.operations)[:-1]]
    removable = [i for i, op in enumerate(ops) if op.results and _has_arrays(op)]
    returned: set[int] | int = search.minimal(
        range(len(terminator_of(block).operands)), lambda kept: search.fails(kept, set())
    )
    earliest = search.earliest(ops, removable)
    if earliest is not None:
        returned = earliest
    kept = search.minimal(removable, lambda left: search.fails(returned, set(removable) - left))
    return search.candidate(returned, set(removable) - kept)


def _has_arrays(op: ir.Operation) -> bool:
    """Whether all results are tensors of static shape, so that arguments can stand for them."""
    return all(
        isinstance(result.type, ir.RankedTensorType)
        and result.type.has_static_shape
        and "quant" not in str(result.type)
        for result in op.results
    )
