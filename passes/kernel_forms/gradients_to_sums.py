"""gradients-to-sums: gradients of depthwise convolutions by their weights, places side by side."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.cost.op_cost import has_places_minor, is_depthwise_gradient
from hlo.passes.hlo_to_loops.graph import Node, node_of
from hlo.passes.kernel_forms.prepare_convolutions import is_padded, padded_input
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import shape_of
from hlo.passes.rewrite.walk import operations_named, replace

MOST_TAPS = 49
FEWEST_PLACES = 4  # side by side: fewer would not fill vectors


@dataclass(frozen=True)
class GradientsToSums(Pass):
    """Turns gradients by the weights of depthwise convolutions of planes into sums of products.

    Such a gradient is, for each channel and tap, a sum over the batch and all places. Where places
    are side by side in memory, lanes of channels would be loaded one by one; sums have lanes of
    places, and those of several taps share a loop, which reads the result's gradient once.

    Requires: the core op set, static shapes.

        %0 = hlo.convolution(%x, %g) [f, b, 0]x[i, o, 0]->[f, b, 0] {batch_group_count = 96}
            : (tensor<8x96x102xf32>, tensor<8x96x100xf32>) -> tensor<96x1x3xf32>
      ==>
        %s0 = hlo.reduce add (%x[:, :, 0:100] * %g), dimensions [0, 2] : tensor<96xf32>
        %s1 = hlo.reduce add (%x[:, :, 1:101] * %g), dimensions [0, 2] : tensor<96xf32>
        %s2 = hlo.reduce add (%x[:, :, 2:102] * %g), dimensions [0, 2] : tensor<96xf32>
        %0 = hlo.reshape (hlo.concatenate %s0, %s1, %s2)
    """

    def run(self, module: ir.Module) -> bool:
        changed = [_to_sums(op) for op in operations_named(module, ("hlo.convolution",))]
        return any(changed)


def _to_sums(op: ir.Operation) -> bool:
    node = node_of(op)
    if not is_depthwise_gradient(node) or not _pays(node):
        return False
    attributes = node.attributes
    labels = attributes["dimension_numbers"]
    data, output = labels["input"], labels["output"]
    sizes = dict(zip(output, shape_of(op.results[0]), strict=True))
    window = [sizes[str(k)] for k in range(len(data) - 2)]
    b = Builder.before(op)
    # In memory: where it lies apart from what it is computed of, no place has to be looked for.
    source = op.operands[0]
    if is_padded(attributes):
        with op.location, ir.InsertionPoint(op):
            source = padded_input(source, attributes)
        source = b.create("hlo.optimization_barrier", [source], [source.type]).results[0]
    summed = [d for d, label in enumerate(data) if label != "b"]
    sums = [
        b.sum(b.multiply(_met(b, source, op, attributes, tap), op.operands[1]), summed)
        for tap in itertools.product(*map(range, window))
    ]
    channels = sizes["f"]
    total = b.concatenate([b.reshape(one, [1, channels]) for one in sums], 0)
    total = b.reshape(total, [*window, 1, channels])
    order = [*map(str, range(len(window))), "b", "f"]
    replace(op, [b.transpose(total, [order.index(label) for label in output])])
    return True


def _pays(node: Node) -> bool:
    """Whether places fill vectors, and the taps are not too many for a kernel."""
    labels, result = node.attributes["dimension_numbers"], node.results[0]
    if not has_places_minor(labels["input"], labels["kernel"]):
        return False
    if {t.type.name for t in (*node.operands, result)} not in ({"f32"}, {"f64"}):
        return False  # products of others are rounded otherwise than their sums
    taps = result.size // node.attributes["batch_group_count"]
    return node.operands[1].shape[-1] >= FEWEST_PLACES and 0 < taps <= MOST_TAPS


def _met(
    b: Builder, source: ir.Value, op: ir.Operation, attributes: Mapping[str, Any],
    tap: tuple[int, ...],
) -> ir.Value:  # fmt: skip
    """What one tap meets of the padded input, as large as the result's gradient."""
    ones = (1,) * len(tap)
    steps = attributes.get("window_strides") or ones
    spread = attributes.get("rhs_dilation") or ones
    starts, strides = [], []
    for label in attributes["dimension_numbers"]["input"]:
        k = None if label in "bf" else int(label)
        starts.append(0 if k is None else tap[k] * steps[k])
        strides.append(1 if k is None else spread[k])
    ends = [
        start + (size - 1) * stride + 1
        for start, size, stride in zip(starts, shape_of(op.operands[1]), strides, strict=True)
    ]
    return b.slice(source, starts, ends, strides)
