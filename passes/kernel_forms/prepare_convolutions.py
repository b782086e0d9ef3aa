"""prepare-convolutions: padding made explicit, output features minor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.kernel_forms.building import create, integers, transposed, zero


@dataclass(frozen=True)
class PrepareConvolutions(Pass):
    """Pads the input of convolutions beforehand; puts output features last in kernel and result.

    Then no tap of a window is out of range, and vectors run along output features, contiguous in
    memory: the form the register-tiled kernels need.

    Requires: the core op set, static shapes.
    Guarantees: every convolution has padding 0 and lhs_dilation 1, kernel labels ending in `o`,
    output labels ending in `f`.

        %0 = hlo.convolution(%x, %k) [b, f, 0]x[o, i, 0]->[b, f, 0], pad = [[1, 1]]
        ==>
        %p = hlo.pad %x ...
        %t = hlo.transpose %k ...
        %c = hlo.convolution(%p, %t) [b, f, 0]x[i, 0, o]->[b, 0, f], pad = [[0, 0]]
        %0 = hlo.transpose %c ...
    """

    def run(self, module: ir.Module) -> bool:
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "hlo.convolution":
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        prepared = [_prepare(op) for op in found]
        return any(prepared)


def _prepare(op: ir.Operation) -> bool:
    attributes = {k: decode_attribute(a) for k, a in op.attributes.items()}
    labels: dict[str, tuple[str, ...]] = attributes["dimension_numbers"]
    lhs, rhs = op.operands
    rank = len(labels["input"]) - 2
    padding = padding_pairs(attributes.get("padding"), rank)
    gaps = tuple(attributes.get("lhs_dilation") or (1,) * rank)
    padded = any(p != (0, 0) for p in padding) or any(g != 1 for g in gaps)
    kernel, output = labels["kernel"], labels["output"]
    if not padded and kernel[-1] == "o" and output[-1] == "f":
        return False
    new_kernel = (*(x for x in kernel if x != "o"), "o")
    new_output = (*(x for x in output if x != "f"), "f")
    result = ir.RankedTensorType(op.results[0].type)
    with op.location, ir.InsertionPoint(op):
        if padded:
            lhs = _pad(lhs, labels["input"], padding, gaps)
        rhs = transposed(rhs, [kernel.index(x) for x in new_kernel])
        shape = [result.shape[output.index(x)] for x in new_output]
        kept = {k: op.attributes[k] for k in op.attributes}
        kept["dimension_numbers"] = _numbers(labels["input"], new_kernel, new_output)
        kept.pop("padding", None)
        kept.pop("lhs_dilation", None)
        new = create("hlo.convolution", [lhs, rhs], shape, result.element_type, kept).results[0]
        new = transposed(new, [new_output.index(x) for x in output])
    op.results[0].replace_all_uses_with(new)
    op.erase()
    return True


def _numbers(*labels: Sequence[str]) -> ir.Attribute:
    first, second, third = (", ".join(part) for part in labels)
    return ir.Attribute.parse(f"#hlo.conv<[{first}]x[{second}]->[{third}]>")


def _pad(value: ir.Value, labels: Sequence[str], padding: Any, gaps: Sequence[int]) -> ir.Value:
    kind = ir.RankedTensorType(value.type)
    low, high, interior = ([0] * len(labels) for _ in range(3))
    for k, ((before, after), gap) in enumerate(zip(padding, gaps, strict=True)):
        d = labels.index(str(k))
        low[d], high[d], interior[d] = before, after, gap - 1
    shape = [
        size + b + a + max(size - 1, 0) * i
        for size, b, a, i in zip(kind.shape, low, high, interior, strict=True)
    ]
    attributes = {
        "edge_padding_low": integers(low),
        "edge_padding_high": integers(high),
        "interior_padding": integers(interior),
    }
    return create(
        "hlo.pad", [value, zero(kind.element_type)], shape, kind.element_type, attributes
    ).results[0]
