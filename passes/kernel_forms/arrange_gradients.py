"""arrange-gradients: gradients of convolutions by their weights where there are few features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named, replace

FEW_FEATURES = 7  # fewer than half a vector, or than rows of a tile
FILLED_BETTER = 1.25  # how much more of their vectors features fill that become lanes
VECTOR = 16  # elements
FEWEST_POSITIONS = 256  # that are summed


@dataclass(frozen=True)
class ArrangeGradients(Pass):
    """Gives register tiles rows and lanes where a gradient by the weights has few features.

    Such a gradient is a convolution whose window is all positions of the result's gradient. Lanes
    are output features and rows input features: few of one leave lanes idle, few of the other make
    tiles of few rows.

    - Output features that leave lanes idle change places with input features that do not: the
      result's gradient becomes the input and the input the window. The taps of that result are in
      reverse.
    - Few input features, side by side in memory, become places: a line of `w` places of `c`
      features is one of `c w` places of one, and a window over it has taps `c` apart.

    Requires: the core op set, static shapes, prepared convolutions (prepare-convolutions).

        %0 = hlo.convolution(%x, %g) [f, 0, b]x[i, 0, o]->[0, b, f], window = {rhs_dilate = [2]}
            : (tensor<8x99x3xf32>, tensor<8x49x64xf32>) -> tensor<3x3x64xf32>
      ==>
        %y = hlo.reshape %x : tensor<8x297x1xf32>
        %1 = hlo.convolution(%y, %g) [f, 0, b]x[i, 0, o]->[0, b, f], window = {rhs_dilate = [6]}
            : (tensor<8x297x1xf32>, tensor<8x49x64xf32>) -> tensor<9x1x64xf32>
        %0 = hlo.reshape %1 : tensor<3x3x64xf32>
    """

    def run(self, module: ir.Module) -> bool:
        turned = [_exchange(op) for op in operations_named(module, ("hlo.convolution",))]
        spread = [_spread(op) for op in operations_named(module, ("hlo.convolution",))]
        return any(turned) or any(spread)


@dataclass(frozen=True)
class _Gradient:
    """A gradient by the weights: of the input `[n, ..., c]` and the result's gradient `[n, ..., o]`
    the sums `[taps..., c, o]`.

    Attributes:
        padding: of the input, for each spatial dimension.
        steps: in the input from tap to tap; `spread`: from position to position.
    """

    padding: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]
    spread: tuple[int, ...]

    @staticmethod
    def of(op: ir.Operation) -> _Gradient | None:
        """None of a convolution that is no such gradient, or too small."""
        attributes = {k: decode_attribute(a) for k, a in op.attributes.items()}
        labels = attributes["dimension_numbers"]
        rank = len(labels["input"]) - 2
        spatial, ones = [str(k) for k in range(rank)], (1,) * rank
        if rank == 0 or attributes["feature_group_count"] * attributes["batch_group_count"] > 1:
            return None
        if list(labels["input"]) != ["f", *spatial, "b"]:
            return None
        if list(labels["kernel"]) != ["i", *spatial, "o"]:
            return None
        if list(labels["output"]) != [*spatial, "b", "f"]:
            return None
        if any(gap != 1 for gap in attributes.get("lhs_dilation") or ()):
            return None
        if any(attributes.get("window_reversal") or ()):
            return None
        sizes = [shape_of(value) for value in (*op.operands, op.results[0])]
        if any(0 in shape for shape in sizes):
            return None
        positions = math.prod(sizes[1][:-1])
        if (
            positions < FEWEST_POSITIONS
            or not element_type(str(element_of(op.results[0]))).is_float
        ):
            return None
        return _Gradient(
            tuple(padding_pairs(attributes.get("padding"), rank)),
            tuple(attributes.get("window_strides") or ones),
            tuple(attributes.get("rhs_dilation") or ones),
        )


def _filled(features: int) -> float:
    """The part of vectors of so many features that is not idle."""
    return features / (-(-features // VECTOR) * VECTOR)


def _exchange(op: ir.Operation) -> bool:
    """Makes input features the lanes, and output features rows."""
    found = _Gradient.of(op)
    *taps, inputs, outputs = shape_of(op.results[0])
    if found is None or _filled(inputs) < FILLED_BETTER * _filled(outputs):
        return False
    if any(step != 1 for step in (*found.steps, *found.spread)):
        return False
    if element_of(op.operands[0]) != element_of(op.operands[1]):
        return False
    b, rank = Builder.before(op), len(taps)
    data, by = (shape_of(value) for value in op.operands)
    # Tap k meets the input at p + k - low: tap size - 1 - k then meets the gradient at p.
    padding = [
        (size - 1 - low, low + data[1 + k] - by[1 + k])
        for k, (size, (low, _)) in enumerate(zip(taps, found.padding, strict=True))
    ]
    value = _convolution(
        b, op, (op.operands[1], op.operands[0]), [*taps, outputs, inputs], padding, found.spread
    )
    dims = [d for d in range(rank) if taps[d] > 1]
    if dims:
        value = b.one("reverse", [value], value.type, {"dimensions": b.integers(dims)})
    replace(op, [b.transpose(value, [*range(rank), rank + 1, rank])])
    return True


def _spread(op: ir.Operation) -> bool:
    """Makes few input features places of the last spatial dimension."""
    found = _Gradient.of(op)
    *taps, inputs, outputs = shape_of(op.results[0])
    if found is None or not 1 < inputs <= FEW_FEATURES or found.steps[-1] != 1:
        return False
    b, data = Builder.before(op), shape_of(op.operands[0])
    flat = b.reshape(op.operands[0], [*data[:-2], data[-2] * inputs, 1])
    low, high = found.padding[-1]
    value = _convolution(
        b, op, (flat, op.operands[1]), [*taps[:-1], taps[-1] * inputs, 1, outputs],
        [*found.padding[:-1], (low * inputs, high * inputs)],
        [*found.spread[:-1], found.spread[-1] * inputs],
    )  # fmt: skip
    replace(op, [b.reshape(value, shape_of(op.results[0]))])
    return True


def _convolution(
    b: Builder, op: ir.Operation, operands: tuple[ir.Value, ir.Value], shape: Sequence[int],
    padding: Sequence[tuple[int, int]], spread: Sequence[int],
) -> ir.Value:  # fmt: skip
    """The same op of other operands."""
    pairs = [list(pair) for pair in padding]
    kept = {k: op.attributes[k] for k in op.attributes}
    kept["padding"] = b.parse(f"dense<{pairs}> : tensor<{len(pairs)}x2xi64>")
    kept["rhs_dilation"] = b.integers(list(spread))
    result = b.tensor(shape, element_of(op.results[0]))
    return b.one("convolution", list(operands), result, kept)
