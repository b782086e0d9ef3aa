"""prepare-convolutions: output features minor, padding made explicit where kernels need that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.contraction_tiling import are_small_groups, takes_features, word_of
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import decode_attribute, node_of
from hlo.passes.kernel_forms.building import create, integers, transposed, zero
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named


@dataclass(frozen=True)
class PrepareConvolutions(Pass):
    """Puts output features last in kernel and result, pads the input beforehand where need be.

    Then vectors run along output features, contiguous in memory: the form the register-tiled
    kernels need. Those take windows that reach into zeros around the input, also where a `pad` put
    them there that convolutions alone read. Zeros between its elements, and those of convolutions
    that other code computes, become a `pad`: then no tap of a window is out of range.

    Attributes:
        any_window: whether windows of every convolution may reach into zeros around the input, not
            just those of register tiles.

    Requires: the core op set, static shapes.
    Guarantees: every convolution has lhs_dilation 1, kernel labels ending in `o`, output labels
    ending in `f`, and, unless register tiles can compute it or `any_window` is set, padding 0.

        %0 = hlo.convolution(%x, %k) [b, f, 0]x[o, i, 0]->[b, f, 0], lhs_dilate = [2]
        ==>
        %p = hlo.pad %x ...
        %t = hlo.transpose %k ...
        %c = hlo.convolution(%p, %t) [b, f, 0]x[i, 0, o]->[b, 0, f]
        %0 = hlo.transpose %c ...
    """

    any_window: bool = False

    def run(self, module: ir.Module) -> bool:
        found = operations_named(module, ("hlo.convolution",))
        absorbed = [_absorb_pad(op, self.any_window) for op in found]
        prepared = [_prepare(op, self.any_window) for op in found]
        return any(absorbed) or any(prepared)


def _prepare(op: ir.Operation, any_window: bool) -> bool:
    attributes = {k: decode_attribute(a) for k, a in op.attributes.items()}
    labels: dict[str, tuple[str, ...]] = attributes["dimension_numbers"]
    lhs, rhs = op.operands
    padded = is_padded(attributes) and not _takes_padding(op, attributes, any_window)
    kernel, output = labels["kernel"], labels["output"]
    if not padded and kernel[-1] == "o" and output[-1] == "f":
        return False
    new_kernel = (*(x for x in kernel if x != "o"), "o")
    new_output = (*(x for x in output if x != "f"), "f")
    result = ir.RankedTensorType(op.results[0].type)
    with op.location, ir.InsertionPoint(op):
        kept = {k: op.attributes[k] for k in op.attributes}
        kept["dimension_numbers"] = _numbers(labels["input"], new_kernel, new_output)
        if padded:
            lhs = padded_input(lhs, attributes)
            kept.pop("padding", None)
            kept.pop("lhs_dilation", None)
        rhs = transposed(rhs, [kernel.index(x) for x in new_kernel])
        shape = [result.shape[output.index(x)] for x in new_output]
        new = create("hlo.convolution", [lhs, rhs], shape, result.element_type, kept).results[0]
        new = transposed(new, [new_output.index(x) for x in output])
    op.results[0].replace_all_uses_with(new)
    op.erase()
    return True


def _absorb_pad(op: ir.Operation, any_window: bool) -> bool:
    """Takes zeros that a `pad` puts around the input into the convolution's own padding."""
    pad = op.operands[0].owner
    if isinstance(pad, ir.Block) or pad.name != "hlo.pad":
        return False
    attributes = {k: decode_attribute(a) for k, a in op.attributes.items()}
    readers = [(use.owner.name, use.operand_number) for use in pad.results[0].uses]
    if set(readers) != {("hlo.convolution", 0)} or not _takes_padding(op, attributes, any_window):
        return False
    labels = attributes["dimension_numbers"]["input"]
    low, high, interior = (
        decode_attribute(pad.attributes[f"{name}_padding{end}"])
        for name, end in (("edge", "_low"), ("edge", "_high"), ("interior", ""))
    )
    features = [labels.index("b"), labels.index("f")]
    if not _is_zero(pad.operands[1]) or any(interior) or any(low[d] or high[d] for d in features):
        return False
    if 0 in shape_of(pad.operands[0]):
        return False
    rank = len(labels) - 2
    dims = [labels.index(str(k)) for k in range(rank)]
    own = padding_pairs(attributes.get("padding"), rank)
    if any(p < 0 for pair in own for p in pair):  # cuts off what the pad has put there
        return False
    pairs = [
        [before + low[d], after + high[d]] for d, (before, after) in zip(dims, own, strict=True)
    ]
    text = f"dense<{pairs}> : tensor<{rank}x2xi64>"
    op.attributes["padding"] = ir.Attribute.parse(text, op.context)
    op.operands[0] = pad.operands[0]
    if not list(pad.results[0].uses):
        pad.erase()
    return True


def _is_zero(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hlo.constant":
        return False
    return ir.constants.splat_value(owner.attributes["value"]) == 0


def is_padded(attributes: Mapping[str, Any]) -> bool:
    """Whether a convolution of these attributes has zeros around its input or between elements."""
    rank = len(attributes["dimension_numbers"]["input"]) - 2
    padding = padding_pairs(attributes.get("padding"), rank)
    return any(p != (0, 0) for p in padding) or _is_dilated(attributes)


def _is_dilated(attributes: Mapping[str, Any]) -> bool:
    return any(gap != 1 for gap in attributes.get("lhs_dilation") or ())


def _takes_padding(op: ir.Operation, attributes: Mapping[str, Any], any_window: bool) -> bool:
    """Whether register tiles compute a convolution, and its padding is around the input alone.

    Args:
        any_window: whether kernels that are no register tiles take such padding too.
    """
    shape = shape_of(op.results[0])
    features = shape[attributes["dimension_numbers"]["output"].index("f")]
    if _is_dilated(attributes):
        return False
    values = (*op.operands, op.results[0])
    kinds = [element_type(str(element_of(value))) for value in values]
    if 0 in (size for value in values for size in shape_of(value)):
        return False
    if any_window or word_of(node_of(op)) is not None:
        return True
    if not all(kind.is_float for kind in kinds):
        return False
    groups = attributes["feature_group_count"] * attributes["batch_group_count"]
    inputs = shape_of(op.operands[1])[attributes["dimension_numbers"]["kernel"].index("i")]
    if attributes["batch_group_count"] > 1:
        batch = attributes["dimension_numbers"]["input"].index("b")
        inputs = shape_of(op.operands[0])[batch] // groups
    small = are_small_groups(kinds[-1], features, groups, inputs)
    return small or takes_features(kinds[-1], features, groups)


def _numbers(*labels: Sequence[str]) -> ir.Attribute:
    first, second, third = (", ".join(part) for part in labels)
    return ir.Attribute.parse(f"#hlo.conv<[{first}]x[{second}]->[{third}]>")


def padded_input(value: ir.Value, attributes: Mapping[str, Any]) -> ir.Value:
    """The input of a convolution with its zeros in place, at the current insertion point."""
    labels: tuple[str, ...] = attributes["dimension_numbers"]["input"]
    rank = len(labels) - 2
    padding = padding_pairs(attributes.get("padding"), rank)
    gaps = tuple(attributes.get("lhs_dilation") or (1,) * rank)
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
