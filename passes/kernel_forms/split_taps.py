"""split-taps: convolutions to few features as one product for all taps, and a sum of its parts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.element_types import element_type
from hlo.passes.hlo_to_loops.elemental.contractions import product_type
from hlo.passes.kernel_forms.convolutions_to_dots import PlainConvolution
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, shape_of
from hlo.passes.rewrite.walk import operations_named, replace

MOST_FEATURES = 8  # of a result: a vector of more is not idle enough
FEWEST_INPUTS = 16  # features that are summed for each tap: a product's depth
FEWEST_POSITIONS = 1024  # that share what is packed
MOST_BYTES = 64 << 20  # of the product
MOST_TAPS = 128  # that one kernel adds up


@dataclass(frozen=True)
class SplitTaps(Pass):
    """Turns convolutions of many features to few into a dot and a sum of shifted slices.

    Vectors of the result's features would be mostly idle. The features of all taps fill them: one
    product gives each tap's share at every position of the input, its padding included, in the type
    of the sums; the result adds up the shares of its window.

    Requires: the core op set, static shapes, prepared convolutions (prepare-convolutions).

        %0 = hlo.convolution(%x, %k) [b, 0, f]x[0, i, o]->[b, 0, f]
            : (tensor<1x4002x64xf32>, tensor<3x64x2xf32>) -> tensor<1x4000x2xf32>
      ==>
        %m = hlo.reshape (hlo.transpose %k, [0, 2, 1]) : tensor<6x64xf32>
        %p = hlo.dot_general %m, %x, contracting_dims = [1] x [2] : tensor<6x1x4002xf32>
        %s = %p[0:2, :, 0:4000] + %p[2:4, :, 1:4001] + %p[4:6, :, 2:4002]
        %0 = hlo.transpose %s, [1, 2, 0]
    """

    def run(self, module: ir.Module) -> bool:
        changed = [_split(op) for op in operations_named(module, ("hlo.convolution",))]
        return any(changed)


def _split(op: ir.Operation) -> bool:
    conv = PlainConvolution.of(op)
    if conv is None or not _pays(op, conv):
        return False
    b = Builder.before(op)
    source, kernel = conv.padded(op), op.operands[1]
    rank, features = len(conv.window), shape_of(kernel)[-1]
    taps = list(itertools.product(*map(range, conv.window)))
    rows = b.transpose(kernel, [*range(rank), rank + 1, rank])
    rows = b.reshape(rows, [len(taps) * features, shape_of(kernel)[-2]])
    sums = b.parse_type(product_type(element_type(str(element_of(op.results[0])))).name)
    shares = b.dot_general(
        rows, source, contracting=([1], [conv.input.index("f")]), element=sums,
        attributes={k: op.attributes[k] for k in op.attributes if k == "precision_config"},
    )  # fmt: skip
    # The product's dimensions: taps and features, then the input's others in their order.
    labels = ["f", *(label for label in conv.input if label != "f")]
    total = None
    for number, tap in enumerate(taps):
        share = _share(b, op, conv, shares, labels, number * features, tap)
        total = share if total is None else b.add(total, share)
    assert total is not None, "a window has a tap"
    total = b.transpose(total, [labels.index(label) for label in conv.output])
    replace(op, [b.convert(total, element_of(op.results[0]))])
    return True


def _pays(op: ir.Operation, conv: PlainConvolution) -> bool:
    result, kernel = shape_of(op.results[0]), shape_of(op.operands[1])
    spatial = [str(k) for k in range(len(conv.window))]
    if list(conv.kernel) != [*spatial, "i", "o"] or any(step != 1 for step in conv.strides):
        return False
    kind = element_type(str(element_of(op.results[0])))
    if not kind.is_float or not all(element_type(str(element_of(o))).is_float for o in op.operands):
        return False
    taps, positions = math.prod(conv.window), math.prod(result) // max(1, kernel[-1])
    if not 1 < taps <= MOST_TAPS or positions < FEWEST_POSITIONS or kernel[-2] < FEWEST_INPUTS:
        return False
    size = product_type(kind).memory_bytes * taps * math.prod(result)
    return kernel[-1] <= MOST_FEATURES and size <= MOST_BYTES


def _share(
    b: Builder, op: ir.Operation, conv: PlainConvolution, shares: ir.Value, labels: list[str],
    first: int, tap: tuple[int, ...],
) -> ir.Value:  # fmt: skip
    """What one tap adds to every element of the result."""
    result = shape_of(op.results[0])
    sizes = {label: result[d] for d, label in enumerate(conv.output)}
    starts = {"f": first, "b": 0}
    for k, (index, spread) in enumerate(zip(tap, conv.spread, strict=True)):
        starts[str(k)] = index * spread
    return b.slice(
        shares,
        [starts[label] for label in labels],
        [starts[label] + sizes[label] for label in labels],
    )
