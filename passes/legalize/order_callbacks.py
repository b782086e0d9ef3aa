"""Python callbacks are ordered by the values they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo import ir
from hlo.executable.callbacks import TARGET
from hlo.passes.base import Pass
from hlo.passes.legalize.remove_tokens import drop_tokens_from_signatures
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.signature import append_branch_result
from hlo.passes.rewrite.tensor_types import is_token
from hlo.passes.rewrite.walk import body_of, functions, operations, operations_named, replace
from hlo.passes.simplify.dead_code import has_effects


@dataclass(frozen=True)
class OrderCallbacks(Pass):
    """Makes Python callbacks that have effects depend on one another.

    Tokens become 32-bit integers if a callback takes one, so that callbacks they order depend on
    each other as any values do, through loops and branches. `main` takes and returns no tokens
    then. Callbacks of one block that no token orders take a result of the one before as a last
    operand, of which nothing is read. A branch that only has effects gets a result.

        %0 = hlo.custom_call @hlo.python_callback(%x) : (tensor<f32>) -> tensor<i32>
        %1 = hlo.custom_call @hlo.python_callback(%y) : (tensor<f32>) -> tensor<i32>
      ==>
        %0 = hlo.custom_call @hlo.python_callback(%x) : (tensor<f32>) -> tensor<i32>
        %1 = hlo.custom_call @hlo.python_callback(%y, %0)
            : (tensor<f32>, tensor<i32>) -> tensor<i32>
    """

    def run(self, module: ir.Module) -> bool:
        """Tokens first: what takes one that stays is ordered."""
        calls = [op for op in operations_named(module, {"hlo.custom_call"}) if _has_effects(op)]
        if any(_takes_token(call) for call in calls):
            _tokens_to_integers(module)
            calls = [op for op in operations_named(module, {"hlo.custom_call"}) if _has_effects(op)]
        last: dict[ir.Block, ir.Operation] = {}
        for call in calls:
            block = call.block
            last[block] = _after(last[block], call) if block in last else call
        if calls:
            _give_results_to_branches(module)
        return bool(calls)


def _has_effects(call: ir.Operation) -> bool:
    return ir.attributes.string(call, "call_target_name") == TARGET and ir.attributes.boolean(
        call, "has_side_effect"
    )


def _takes_token(call: ir.Operation) -> bool:
    return any(is_token(operand.type) for operand in call.operands)


def _after(before: ir.Operation, call: ir.Operation) -> ir.Operation:
    """The call, with an operand that depends on the one before."""
    value = before.results[0]
    if value in list(call.operands):
        return call
    attributes = {name: call.attributes[name] for name in call.attributes}
    types = [result.type for result in call.results]
    new = Builder.before(call).create(call.name, [*call.operands, value], types, attributes)
    replace(call, list(new.results))
    return new


def _give_results_to_branches(module: ir.Module) -> None:
    """Later passes know ops by their results: a branch with effects alone returns a number."""
    integer = ir.IntegerType.get_signless(32, module.context)
    for op in reversed(operations_named(module, {"hlo.if", "hlo.case"})):
        if has_effects(op) and all(is_token(result.type) for result in op.results):
            kind = Builder.before(op).tensor((), integer)
            append_branch_result(op, kind, lambda inside: inside.constant(0, integer))


def _tokens_to_integers(module: ir.Module) -> None:
    drop_tokens_from_signatures(module)
    for op in operations(module):
        if op.name in ("hlo.create_token", "hlo.after_all"):
            _make_value(op)
    first = body_of(functions(module)["main"]).operations[0].operation
    builder = Builder.before(first)
    integer = builder.tensor((), builder.integer_type(32))
    for value in list(_values(module)):
        if is_token(value.type):
            value.set_type(integer)


def _make_value(op: ir.Operation) -> None:
    """A token comes from nothing, or after all the tokens of a list."""
    builder = Builder.before(op)
    value: ir.Value = builder.constant(0, builder.integer_type(32))
    if op.operands:
        # A sum depends on all of them.
        value = op.operands[0]
        for other in list(op.operands)[1:]:
            value = builder.add(value, other)
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _values(module: ir.Module) -> Iterator[ir.Value]:
    for op in operations(module):
        yield from op.results
        for region in op.regions:
            for block in region:
                yield from block.arguments
