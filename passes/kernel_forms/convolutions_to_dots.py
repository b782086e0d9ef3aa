"""convolutions-to-dots: convolutions that are matrix products, or better as ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from typing import Any

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.kernel_forms.prepare_convolutions import is_padded, padded_input
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named, replace
from hlo.passes.simplify.dead_code import erase_dead_ops

FEW_POSITIONS = 64  # too few for tiles along one dimension; their patches are small beside a kernel
FEWEST_FEATURES = 16
FEWEST_IN_PLANE = 256  # positions; fewer cost about as much turned around
FEWEST_OF_PRODUCT = 64  # rows and columns of a product that is better than tiles of a convolution


@dataclass(frozen=True)
class ConvolutionsToDots(Pass):
    """Turns convolutions with windows of one element, their gradients by the weights, and
    convolutions of few positions into dots.

    A window of one element sums over features alone: the dot's rows are all positions, not those of
    one line; a transpose that exchanges the features of its kernel becomes the dot's own. Large
    planes of one example are the rows of a product: they and its results stay in their order. Of a
    convolution with few positions and many features the kernel is the large operand: its patches
    are gathered in memory, so that the kernel is read once for all of them.

    Requires: the core op set, static shapes, prepared convolutions (prepare-convolutions).

        %0 = hlo.convolution(%x, %k) [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
            : (tensor<1x14x14x256xf32>, tensor<1x1x256x64xf32>) -> tensor<1x14x14x64xf32>
      ==>
        %w = hlo.reshape %k : tensor<256x64xf32>
        %0 = hlo.dot_general %x, %w, contracting_dims = [3] x [0]
    """

    def run(self, module: ir.Module) -> bool:
        changed = [_to_dot(op) for op in operations_named(module, ("hlo.convolution",))]
        if any(changed):
            erase_dead_ops(module)  # what turned kernels around
        return any(changed)


@dataclass(frozen=True)
class PlainConvolution:
    """A convolution without groups and input dilation, kernel labels `..io`, result `...f`."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    spread: tuple[int, ...]
    input: tuple[str, ...]
    kernel: tuple[str, ...]
    output: tuple[str, ...]
    attributes: Mapping[str, Any]

    def padded(self, op: ir.Operation) -> ir.Value:
        """The input with its padding in place."""
        if not is_padded(self.attributes):
            return op.operands[0]
        with op.location, ir.InsertionPoint(op):
            return padded_input(op.operands[0], self.attributes)

    @staticmethod
    def of(op: ir.Operation) -> PlainConvolution | None:
        attributes: dict[str, Any] = {k: decode_attribute(a) for k, a in op.attributes.items()}
        labels: dict[str, tuple[str, ...]] = attributes["dimension_numbers"]
        rank = len(labels["input"]) - 2
        ones = (1,) * rank
        groups = attributes["feature_group_count"] * attributes["batch_group_count"]
        dilated = tuple(attributes.get("lhs_dilation") or ones) != ones
        turned = any(attributes.get("window_reversal") or ())
        if groups != 1 or dilated or turned or rank == 0:
            return None
        kernel = labels["kernel"]
        shape = shape_of(op.operands[1])
        window = tuple(shape[kernel.index(str(k))] for k in range(rank))
        return PlainConvolution(
            window,
            tuple(attributes.get("window_strides") or ones),
            tuple(attributes.get("rhs_dilation") or ones),
            labels["input"],
            kernel,
            labels["output"],
            attributes,
        )


def _to_dot(op: ir.Operation) -> bool:
    conv = PlainConvolution.of(op)
    if conv is None:
        return False
    if _is_one_sum(op, conv):
        _sum_all(op, conv)
        return True
    result = shape_of(op.results[0])
    free = [label for label in conv.input if label != "f"]
    spatial = [str(k) for k in range(len(conv.window))]
    if list(conv.output) != [*free, "f"] or list(conv.kernel) != [*spatial, "i", "o"]:
        return False
    taps = math.prod(conv.window)
    if taps == 1 and (planes := _Planes.of(op, conv)) is not None:
        _multiply_planes(op, conv, planes)
        return True
    positions = math.prod(result[:-1])
    features = shape_of(op.operands[1])[-2]
    if taps == 0 or positions == 0 or features < FEWEST_FEATURES:
        return False
    if taps > 1 and (positions > FEW_POSITIONS or result[-1] < FEWEST_FEATURES):
        return False
    if taps > 1 and _is_turned(op.operands[1]):
        return False
    b = Builder.before(op)
    if taps > 1 and _is_turned(op.operands[0]):
        # Each tap would gather what another order puts side by side.
        turned = op.operands[0]
        op.operands[0] = b.one("optimization_barrier", [turned], turned.type)
    source = conv.padded(op)
    window = itertools.product(*map(range, conv.window))
    patches = [_tap(b, op, source, conv, tap) for tap in window]
    axis = conv.input.index("f")
    left = patches[0] if len(patches) == 1 else b.concatenate(patches, axis)
    if taps == 1:
        right, summed = _matrix(b, op.operands[1])
    else:
        right, summed = b.reshape(op.operands[1], [taps * features, result[-1]]), 0
    kept = {k: op.attributes[k] for k in op.attributes if k == "precision_config"}
    value = b.dot_general(
        left,
        right,
        contracting=([axis], [summed]),
        element=element_of(op.results[0]),
        attributes=kept,
    )
    replace(op, [value])
    return True


@dataclass(frozen=True)
class _Planes:
    """The input of a convolution by one element as planes of one example, rows of a product, and
    the transpose that alone reads the result and puts it in the same order.
    """

    source: ir.Value
    labels: tuple[str, ...]
    reader: ir.Operation

    @staticmethod
    def of(op: ir.Operation, conv: PlainConvolution) -> _Planes | None:
        if is_padded(conv.attributes) or len(readers := list(op.results[0].uses)) != 1:
            return None
        reader = readers[0].owner.operation
        source, labels = _untransposed(op.operands[0], conv.input)
        if reader.name != "hlo.transpose" or not _are_planes(shape_of(source), labels, "f"):
            return None
        if min(shape_of(op.operands[1])[-2:]) < FEWEST_FEATURES or 0 in shape_of(op.results[0]):
            return None
        if [conv.output[d] for d in _permutation(reader)] != list(labels):
            return None
        return _Planes(source, labels, reader)


def _untransposed(value: ir.Value, labels: Sequence[str]) -> tuple[ir.Value, tuple[str, ...]]:
    """What a transpose that made a value reads, itself if none did, and its dimensions' labels."""
    made = value.owner
    if isinstance(made, ir.Block) or made.name != "hlo.transpose":
        return value, tuple(labels)
    order = _permutation(made.operation)
    return made.operands[0], tuple(labels[order.index(d)] for d in range(len(order)))


def _are_planes(shape: Sequence[int], labels: Sequence[str], features: str) -> bool:
    """Whether each of some features is one long piece of memory, and there is nothing but them."""
    axis = labels.index(features)
    return math.prod(shape[:axis]) == 1 and math.prod(shape[axis + 1 :]) >= FEWEST_IN_PLANE


def _permutation(transpose: ir.Operation) -> list[int]:
    return [int(d) for d in decode_attribute(transpose.attributes["permutation"])]


def _multiply_planes(op: ir.Operation, conv: PlainConvolution, planes: _Planes) -> None:
    """Replaces a convolution of planes by the product of its kernel and them."""
    b = Builder.before(op)
    there = replace_fields(conv, input=planes.labels)
    source = _tap(b, op, planes.source, there, (0,) * len(conv.window))
    kernel, summed = _matrix(b, op.operands[1])
    kept = {k: op.attributes[k] for k in op.attributes if k == "precision_config"}
    value = b.dot_general(
        kernel, source, contracting=([summed], [planes.labels.index("f")]),
        element=element_of(op.results[0]), attributes=kept,
    )  # fmt: skip
    replace(planes.reader, [b.reshape(value, shape_of(planes.reader.results[0]))])
    op.erase()


def _is_one_sum(op: ir.Operation, conv: PlainConvolution) -> bool:
    """Whether a convolution's window is all of its input, as in the gradient by the weights of
    windows of one element: a product of many rows and columns, which blocks of the depth reach in
    the cache.
    """
    data, rank = shape_of(op.operands[0]), len(conv.window)
    whole = all(data[conv.input.index(str(k))] == conv.window[k] for k in range(rank))
    if not whole or conv.spread != (1,) * rank or is_padded(conv.attributes):
        return False
    if conv.kernel[-1] != "o" or conv.output[-2:] != ("b", "f"):
        return False
    if conv.input[-1] != "b" and not _are_planes(data, conv.input, "b"):
        return False
    return math.prod(conv.window) > 1 and min(shape_of(op.results[0])[-2:]) >= FEWEST_OF_PRODUCT


def _sum_all(op: ir.Operation, conv: PlainConvolution) -> None:
    """Replaces a convolution whose window is all of its input by a product."""
    spatial = [str(k) for k in range(len(conv.window))]
    order = sorted(["f", *spatial], key=conv.input.index)
    left = [conv.input.index(label) for label in order]
    other, labels = op.operands[1], conv.kernel
    if conv.input[-1] != "b":
        source, named = _untransposed(other, labels)
        if _are_planes(shape_of(source), named, "o"):
            other, labels = source, named
    right = [labels.index("i" if label == "f" else label) for label in order]
    b = Builder.before(op)
    kept = {k: op.attributes[k] for k in op.attributes if k == "precision_config"}
    value = b.dot_general(
        op.operands[0], other, contracting=(left, right),
        element=element_of(op.results[0]), attributes=kept,
    )  # fmt: skip
    replace(op, [b.reshape(value, shape_of(op.results[0]))])


def _matrix(b: Builder, kernel: ir.Value) -> tuple[ir.Value, int]:
    """A kernel of one tap as a matrix, and its dimension that is summed; the transpose that made
    the kernel of one whose features are the other way around is left out.
    """
    made, shape = kernel.owner, shape_of(kernel)
    if not isinstance(made, ir.Block) and made.name == "hlo.transpose":
        order = _permutation(made.operation)
        sizes = shape_of(made.operands[0])
        if [d for d in order if sizes[d] > 1] == sorted(order[-2:], reverse=True):
            return b.reshape(made.operands[0], [shape[-1], shape[-2]]), 1
    return b.reshape(kernel, [shape[-2], shape[-1]]), 0


def _is_turned(value: ir.Value) -> bool:
    """Whether a value's elements are those of another tensor in another order.

    A convolution packs such a kernel in its order; a product would need it in memory.
    """
    made = value.owner
    return not isinstance(made, ir.Block) and made.name in ("hlo.reverse", "hlo.transpose")


def _tap(
    b: Builder, op: ir.Operation, source: ir.Value, conv: PlainConvolution, tap: Sequence[int]
) -> ir.Value:
    """The elements of the input, padding included, that one tap of the window meets."""
    shape, result = shape_of(source), shape_of(op.results[0])
    start, limit, step = [0] * len(shape), list(shape), [1] * len(shape)
    for k, (index, stride, spread) in enumerate(zip(tap, conv.strides, conv.spread, strict=True)):
        d = conv.input.index(str(k))
        count = result[conv.output.index(str(k))]
        start[d], step[d] = index * spread, stride
        limit[d] = start[d] + (count - 1) * stride + 1
    if start == [0] * len(shape) and limit == list(shape) and step == [1] * len(shape):
        return source
    return b.slice(source, start, limit, step)
