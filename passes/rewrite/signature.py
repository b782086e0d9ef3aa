"""Changes the arguments and results of functions and of ops with regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo import ir
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.walk import body_of, terminator_of


def set_terminator_operands(block: ir.Block, values: Sequence[ir.Value]) -> None:
    """Makes a block return other values."""
    old = terminator_of(block)
    Builder.before(old).create(old.name, values, [])
    old.erase()


def update_function_type(
    function: ir.Operation, argument_sources: Sequence[int], result_sources: Sequence[int]
) -> None:
    """Makes a function's type that of its block and terminator.

    `argument_sources[i]` is the index that argument i had before, whose attributes it keeps;
    `result_sources` the same for results.
    """
    block = body_of(function)
    arguments = [argument.type for argument in block.arguments]
    results = [value.type for value in terminator_of(block).operands]
    kind = ir.FunctionType.get(arguments, results, function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(kind, function.context)
    for name, sources in (("arg_attrs", argument_sources), ("res_attrs", result_sources)):
        if name in function.attributes:
            old = list(ir.ArrayAttr(function.attributes[name]))
            kept = [old[source] for source in sources]
            function.attributes[name] = ir.ArrayAttr.get(kept, function.context)


def keep_carries(loop: ir.Operation, kept: Sequence[int]) -> ir.Operation:
    """A `hlo.while` in place of `loop` with only some of its carries.

    The dropped block arguments and results must have no uses left but the terminator's.
    """
    new = Builder.before(loop).create(
        "hlo.while",
        [loop.operands[i] for i in kept],
        [loop.results[i].type for i in kept],
        dict(_attributes(loop)),
        regions=2,
    )
    dropped = sorted(set(range(len(loop.results))) - set(kept), reverse=True)
    body = body_of(loop, 1)
    returned = list(terminator_of(body).operands)
    set_terminator_operands(body, [returned[i] for i in kept])
    for index in range(2):
        block = body_of(loop, index)
        for argument in dropped:
            block.erase_argument(argument)
        block.append_to(new.regions[index])
    for position, index in enumerate(kept):
        loop.results[index].replace_all_uses_with(new.results[position])
    loop.erase()
    return new


def append_branch_result(
    branch: ir.Operation, kind: ir.Type, value_in: Callable[[Builder], ir.Value]
) -> ir.Operation:
    """A `hlo.if` or `hlo.case` in place of `branch` with one result more.

    `value_in` makes the value of type `kind` that a block returns, at its end.
    """
    for index in range(len(branch.regions)):
        block = body_of(branch, index)
        last = terminator_of(block)
        set_terminator_operands(block, [*last.operands, value_in(Builder.before(last))])
    kinds = [*(result.type for result in branch.results), kind]
    return _rebuilt(branch, kinds, range(len(branch.results)))


def keep_branch_results(branch: ir.Operation, kept: Sequence[int]) -> ir.Operation:
    """A `hlo.if` or `hlo.case` in place of `branch` with only some of its results.

    The dropped results must have no uses left.
    """
    for index in range(len(branch.regions)):
        block = body_of(branch, index)
        returned = list(terminator_of(block).operands)
        set_terminator_operands(block, [returned[i] for i in kept])
    return _rebuilt(branch, [branch.results[i].type for i in kept], kept)


def _rebuilt(branch: ir.Operation, kinds: Sequence[ir.Type], kept: Sequence[int]) -> ir.Operation:
    """The blocks of a branch in an op with results of these types, the first ones those kept."""
    new = Builder.before(branch).create(
        branch.name,
        list(branch.operands),
        kinds,
        dict(_attributes(branch)),
        regions=len(branch.regions),
    )
    for index in range(len(branch.regions)):
        body_of(branch, index).append_to(new.regions[index])
    for position, index in enumerate(kept):
        branch.results[index].replace_all_uses_with(new.results[position])
    branch.erase()
    return new


def _attributes(op: ir.Operation) -> list[tuple[str, ir.Attribute]]:
    return [(name, attribute) for name, attribute in op.attributes.items()]
