"""Tokens go: nothing that is compiled has an order beyond that of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.signature import (
    keep_branch_results,
    keep_carries,
    set_terminator_operands,
    update_function_type,
)
from hlo.passes.rewrite.tensor_types import is_token
from hlo.passes.rewrite.walk import (
    body_of,
    functions,
    operations,
    operations_named,
    terminator_of,
    unsupported,
)

_SOURCES = frozenset({"hlo.after_all", "hlo.create_token"})
_COMMUNICATION = {
    "hlo.infeed": "data from the host has no counterpart here; pass it as an argument",
    "hlo.outfeed": "data to the host has no counterpart here; return it as a result",
    "hlo.send": "there is no other process to send to",
    "hlo.recv": "there is no other process to receive from",
}


@dataclass(frozen=True)
class RemoveTokens(Pass):
    """Removes tokens from arguments and results of functions, loops, branches and barriers, and the
    ops that make them.

    Ops that communicate by tokens (`hlo.infeed`, `hlo.outfeed`, `hlo.send`, `hlo.recv`) are errors.

        %0 = hlo.create_token : !hlo.token
        %1, %2 = hlo.optimization_barrier %0, %arg0 : !hlo.token, tensor<f32>
      ==>
        %1 = hlo.optimization_barrier %arg0 : tensor<f32>
    """

    def run(self, module: ir.Module) -> bool:
        """Drops uses from the outside in, then what made them."""
        for op in operations_named(module, _COMMUNICATION):
            raise unsupported(op, _COMMUNICATION[op.name])
        if not _holds_tokens(module):
            return False
        ops = operations(module)
        changed = False
        for op in ops:
            if _has_tokens(op) and op.name not in _SOURCES:
                _drop(op)
                changed = True
        changed |= drop_tokens_from_signatures(module)
        return _erase_sources(module) or changed


def drop_tokens_from_signatures(module: ir.Module) -> bool:
    """Makes functions take and return no tokens; those they took are made inside."""
    changed = [_drop_from_signature(function) for function in functions(module).values()]
    return any(changed)


def _holds_tokens(module: ir.Module) -> bool:
    """Looks where tokens come from: arguments, ops that make them, custom calls."""
    sources = operations_named(module, _SOURCES | {"hlo.custom_call"})
    if any(op.name in _SOURCES or _has_tokens(op) for op in sources):
        return True
    return any(_tokens(list(body_of(f).arguments)) for f in functions(module).values())


def _tokens(values: Sequence[ir.Value]) -> list[int]:
    return [index for index, value in enumerate(values) if is_token(value.type)]


def _has_tokens(op: ir.Operation) -> bool:
    return any(is_token(result.type) for result in op.results)


def _kept(values: Sequence[ir.Value]) -> list[int]:
    return [index for index, value in enumerate(values) if not is_token(value.type)]


def _drop(op: ir.Operation) -> None:
    _use_new_tokens([op.results[i] for i in _tokens(op.results)], Builder.before(op))
    kept = _kept(op.results)
    if op.name == "hlo.while":
        for index in range(2):
            block = body_of(op, index)
            inside = Builder(ir.InsertionPoint.at_block_begin(block), op.location)
            _use_new_tokens([block.arguments[i] for i in _tokens(op.results)], inside)
        keep_carries(op, kept)
    elif op.name in ("hlo.if", "hlo.case"):
        keep_branch_results(op, kept)
    elif op.name == "hlo.optimization_barrier":
        operands = [op.operands[i] for i in kept]
        new = Builder.before(op).create(op.name, operands, [v.type for v in operands])
        for position, index in enumerate(kept):
            op.results[index].replace_all_uses_with(new.results[position])
        op.erase()
    else:
        raise unsupported(op, "the order that its token asks for cannot be compiled")


def _use_new_tokens(values: Sequence[ir.Value], builder: Builder) -> None:
    for value in values:
        value.replace_all_uses_with(builder.one("create_token", [], value.type))


def _drop_from_signature(function: ir.Operation) -> bool:
    block = body_of(function)
    arguments, returned = list(block.arguments), list(terminator_of(block).operands)
    kept_arguments, kept_results = _kept(arguments), _kept(returned)
    dropped = _tokens(arguments)
    if not dropped and len(kept_results) == len(returned):
        return False
    inside = Builder(ir.InsertionPoint.at_block_begin(block), function.location)
    _use_new_tokens([arguments[i] for i in dropped], inside)
    for index in reversed(dropped):
        block.erase_argument(index)
    set_terminator_operands(block, [terminator_of(block).operands[i] for i in kept_results])
    update_function_type(function, kept_arguments, kept_results)
    return True


def _erase_sources(module: ir.Module) -> bool:
    sources = [op for op in operations(module) if op.name in _SOURCES]
    for op in reversed(sources):
        for use in op.results[0].uses:
            raise unsupported(use.owner.operation, "takes a token, which cannot be compiled")
        op.erase()
    return bool(sources)
