"""`hlo.top_k` and the approximate top-k call become a sort and a slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.inlining import move_block_to
from hlo.passes.rewrite.tensor_types import element_of, is_float, shape_of
from hlo.passes.rewrite.walk import body_of, expand, functions, operations_named, unsupported


@dataclass(frozen=True)
class ExpandTopK(Pass):
    """Replaces `hlo.top_k` by a stable sort, largest first, of values and their indices, and
    ApproxTopK by the exact top k in the order of its comparator.

    Floats are in total order: NaN is the largest, and 0 is above -0.

        %v, %i = hlo.top_k(%0, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)
      ==>
        %n = hlo.iota dim = 0 : tensor<8xi32>
        %s:2 = "hlo.sort"(%0, %n) <{dimension = 0, is_stable = true}> ({ ... compare GT ... })
        %v = hlo.slice %s#0 [0:2]
        %i = hlo.slice %s#1 [0:2]
    """

    def run(self, module: ir.Module) -> bool:
        """Expands both kinds, then erases the comparators that nothing names any more."""
        changed = expand(module, {"hlo.top_k": _expand_top_k})
        approximate = [
            call
            for call in operations_named(module, {"hlo.custom_call"})
            if ir.attributes.string(call, "call_target_name") == "ApproxTopK"
        ]
        comparators = {
            name: function.clone(ip=False) for name, function in _called(module, approximate)
        }
        for call in approximate:
            _expand_approximate(call, comparators)
        known = functions(module)
        for name in comparators:
            known[name].erase()
        return changed or bool(approximate)


def _expand_top_k(op: ir.Operation, builder: Builder) -> Sequence[ir.Value]:
    operand = op.operands[0]
    shape = shape_of(operand)
    last = len(shape) - 1
    count = shape_of(op.results[0])[last]
    indices = builder.iota(shape, element_of(op.results[1]), last)
    is_total = is_float(element_of(operand))

    def before(inner: Builder, args: list[ir.Value]) -> ir.Value:
        return inner.compare(args[0], args[1], "GT", total_order=is_total)

    ordered = builder.sort([operand, indices], last, before)
    return [builder.slice_dimension(value, last, 0, count) for value in ordered]


def _called(module: ir.Module, calls: Sequence[ir.Operation]) -> list[tuple[str, ir.Operation]]:
    known = functions(module)
    names = {_comparator(call) for call in calls}
    return [(name, function) for name, function in known.items() if name in names]


def _comparator(call: ir.Operation) -> str:
    names = ir.ArrayAttr(call.attributes["called_computations"])
    if len(names) != 1:
        raise unsupported(call, f"expected one comparator, found {names}")
    return ir.FlatSymbolRefAttr(names[0]).value


def _expand_approximate(call: ir.Operation, comparators: dict[str, ir.Operation]) -> None:
    builder = Builder.before(call)
    count = len(call.results)
    config = ir.DictAttr(
        call.attributes[
            "mhlo.backend_config" if "mhlo.backend_config" in call.attributes else "backend_config"
        ]
    )
    dimension = int(ir.IntegerAttr(config["reduction_dim"]).value)
    inputs = list(call.operands)[:count]
    comparator = comparators[_comparator(call)].clone(ip=False)

    def before(inner: Builder, args: list[ir.Value]) -> ir.Value:
        (value,) = move_block_to(inner, body_of(comparator), args)
        return value

    ordered = builder.sort(inputs, dimension, before)
    for result, value in zip(call.results, ordered, strict=True):
        size = shape_of(result)[dimension]
        result.replace_all_uses_with(builder.slice_dimension(value, dimension, 0, size))
    call.erase()
