"""Tuples become the values they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.signature import set_terminator_operands, update_function_type
from hlo.passes.rewrite.walk import (
    body_of,
    functions,
    malformed,
    operations_named,
    replace,
    terminator_of,
)


@dataclass(frozen=True)
class FlattenTuples(Pass):
    """Replaces tuples by their leaves, in order: in arguments and results of functions, operands
    and results of custom calls, and where ops make and take apart tuples.

    Requires inlined calls. Afterwards there is no tuple type, `hlo.tuple` or
    `hlo.get_tuple_element`.

        func.func @main(%0: tuple<tensor<f32>, tensor<i32>>) -> tensor<i32> {
          %1 = hlo.get_tuple_element %0[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
          return %1 : tensor<i32>
        }
      ==>
        func.func @main(%0: tensor<f32>, %1: tensor<i32>) -> tensor<i32> {
          return %1 : tensor<i32>
        }
    """

    def run(self, module: ir.Module) -> bool:
        """Rebuilds tuples where values enter, takes them apart where values leave."""
        changed = False
        for function in functions(module).values():
            changed |= _flatten_signature(function)
        found = operations_named(module, {"hlo.custom_call", "hlo.tuple", "hlo.get_tuple_element"})
        if not found:
            return changed
        for op in found:
            if op.name == "hlo.custom_call":
                changed |= _flatten_custom_call(op)
        return _resolve_elements(module) or changed


def _is_tuple(kind: ir.Type) -> bool:
    return isinstance(kind, ir.TupleType)


def _leaves(kind: ir.Type) -> Iterator[ir.Type]:
    if not isinstance(kind, ir.TupleType):
        yield kind
        return
    for index in range(kind.num_types):
        yield from _leaves(kind.get_type(index))


def _pack(kind: ir.Type, leaves: Iterator[ir.Value], builder: Builder) -> ir.Value:
    if not isinstance(kind, ir.TupleType):
        return next(leaves)
    parts = [_pack(kind.get_type(i), leaves, builder) for i in range(kind.num_types)]
    return builder.one("tuple", parts, kind)


def _unpack(value: ir.Value, builder: Builder) -> Iterator[ir.Value]:
    kind = value.type
    if not isinstance(kind, ir.TupleType):
        yield value
        return
    for index in range(kind.num_types):
        attributes = {"index": builder.integer(index, 32)}
        part = builder.one("get_tuple_element", [value], kind.get_type(index), attributes)
        yield from _unpack(part, builder)


def _sources(kinds: Sequence[ir.Type]) -> list[int]:
    return [index for index, kind in enumerate(kinds) for _ in _leaves(kind)]


def _flatten_signature(function: ir.Operation) -> bool:
    block = body_of(function)
    old = list(block.arguments)
    argument_types = [argument.type for argument in old]
    terminator = terminator_of(block)
    returned = list(terminator.operands)
    result_types = [value.type for value in returned]
    if not any(map(_is_tuple, (*argument_types, *result_types))):
        return False
    builder = Builder(ir.InsertionPoint.at_block_begin(block), function.location)
    for argument in old:
        leaves = [block.add_argument(kind, argument.location) for kind in _leaves(argument.type)]
        argument.replace_all_uses_with(_pack(argument.type, iter(leaves), builder))
    for index in reversed(range(len(old))):
        block.erase_argument(index)
    builder = Builder.before(terminator)
    returned = [leaf for value in terminator.operands for leaf in _unpack(value, builder)]
    set_terminator_operands(block, returned)
    update_function_type(function, _sources(argument_types), _sources(result_types))
    return True


def _flatten_custom_call(call: ir.Operation) -> bool:
    kinds = [value.type for value in (*call.operands, *call.results)]
    if not any(map(_is_tuple, kinds)):
        return False
    builder = Builder.before(call)
    operands = [leaf for value in call.operands for leaf in _unpack(value, builder)]
    result_types = [result.type for result in call.results]
    new = builder.create(
        call.name,
        operands,
        [leaf for kind in result_types for leaf in _leaves(kind)],
        dict(call.attributes.items()),
    )
    leaves = iter(new.results)
    replace(call, [_pack(kind, leaves, builder) for kind in result_types])
    return True


def _resolve_elements(module: ir.Module) -> bool:
    """Outer tuples come first: an element that is a tuple is known when it is taken apart."""
    found = operations_named(module, {"hlo.tuple", "hlo.get_tuple_element"})
    for op in found:
        if op.name == "hlo.tuple":
            continue
        source = op.operands[0].owner
        if not isinstance(source, ir.Block) and source.name == "hlo.tuple":
            replaced = source.operands[ir.attributes.integer(op, "index")]
            op.results[0].replace_all_uses_with(replaced)
        else:
            raise malformed(op, "expected the tuple of hlo.tuple, an argument or a custom call")
    for op in reversed(found):
        op.erase()
    return bool(found)
