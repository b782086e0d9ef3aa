"""split-dilated-convolutions: without the products with zeros between the input's elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import ir
from hlo.passes.base import Pass
from hlo.passes.hlo_to_loops.elemental.reductions import padding_pairs
from hlo.passes.hlo_to_loops.graph import decode_attribute
from hlo.passes.rewrite.builder import Builder
from hlo.passes.rewrite.tensor_types import element_of, is_complex, is_float, shape_of
from hlo.passes.rewrite.walk import operations_named, replace
from hlo.passes.simplify.dead_code import erase_dead_ops

# Products saved for an element of the result, from which on putting it together pays.
FEWEST_SAVED = 48


@dataclass(frozen=True)
class SplitDilatedConvolutions(Pass):
    """A convolution over an input with zeros between its elements becomes several over the input.

    Transposed convolutions and the input gradients of strided ones are such. With d - 1 zeros
    between elements, all results a multiple of d apart meet elements with the same taps of the
    window, each d-th: they are a convolution by those taps. The results are put together again.

    A kernel that another tensor turned around makes is sliced ahead of that, so that each of the
    convolutions packs its own part in its order.

    The other taps meet zeros only. Their products are zeros too, unless a tap is infinite or NaN:
    what they add up to, zero or NaN, is added to the results.

    Attributes:
        finite: take the window's elements for finite, and add nothing.

    Requires: the core op set, static shapes.

        %0 = hlo.convolution(%x, %k), window = {lhs_dilate = [2]}
            : (tensor<1x8x64xf32>, tensor<4x64x64xf32>) -> tensor<1x16x64xf32>
      ==>
        %a = hlo.slice %k [0:3:2, ...]             %b = hlo.slice %k [1:4:2, ...]
        %c = hlo.convolution(%x, %a) : 1x8x64      %d = hlo.convolution(%x, %b) : 1x8x64
        %0 = %c and %d in turn: hlo.concatenate of 1x8x1x64, hlo.reshape
    """

    finite: bool = False

    def run(self, module: ir.Module) -> bool:
        found = operations_named(module, ("hlo.convolution",))
        split = [_split(op, self.finite) for op in found]
        if any(split):
            erase_dead_ops(module)  # what turned kernels around
        return any(split)


@dataclass(frozen=True)
class _Phase:
    """The results at one remainder along a dimension: which taps they meet, with what padding.

    `start`, `limit` and `step` choose the taps in memory.
    """

    taps: int
    start: int
    limit: int
    step: int
    padding: tuple[int, int]


@dataclass(frozen=True)
class _Dilated:
    """A dimension with `gap` - 1 zeros between the input's `size` elements.

    Attributes:
        results: of each phase; together they are at least as many as the convolution's.
        input, kernel, output: which dimension of each it is.
    """

    index: int
    gap: int
    results: int
    input: int
    kernel: int
    output: int
    phases: tuple[_Phase, ...]


def _split(op: ir.Operation, finite: bool) -> bool:
    attributes = {k: decode_attribute(a) for k, a in op.attributes.items()}
    dims = _dilated_dims(op, attributes)
    element = element_of(op.results[0])
    if not dims or is_complex(element) or attributes["batch_group_count"] != 1:
        return False
    labels = attributes["dimension_numbers"]
    kernel = shape_of(op.operands[1])
    if 0 in (size for v in (*op.operands, op.results[0]) for size in shape_of(v)):
        return False
    depth = math.prod(kernel) // kernel[labels["kernel"].index("o")]
    if depth - depth // math.prod(d.gap for d in dims) < FEWEST_SAVED:
        return False
    b = Builder.before(op)
    zeros = None if finite or not is_float(element) else _products_with_zero(b, op, labels)
    shape = list(shape_of(op.results[0]))
    for d in dims:
        shape[d.output] = d.results
    results: dict[tuple[int, ...], ir.Value] = {}
    for phase in itertools.product(*(range(d.gap) for d in dims)):
        met = [d.phases[p] for d, p in zip(dims, phase, strict=True)]
        value = _convolved(b, op, attributes, dims, met, shape)
        if zeros is not None:
            rest = _sum_of_others(b, zeros, labels, dims, met)
            spread = b.broadcast_in_dim(rest, shape, [labels["output"].index("f")])
            value = b.add(value, spread)
        results[phase] = value
    whole = _together(b, results, dims)
    replace(op, [b.slice(whole, [0] * len(shape), shape_of(op.results[0]))])
    return True


def _dilated_dims(op: ir.Operation, attributes: Mapping[str, Any]) -> list[_Dilated]:
    """The dimensions with gaps; none if one of them cannot be split."""
    labels: dict[str, tuple[str, ...]] = attributes["dimension_numbers"]
    rank = len(labels["input"]) - 2
    ones = (1,) * rank
    gaps = tuple(attributes.get("lhs_dilation") or ones)
    strides = tuple(attributes.get("window_strides") or ones)
    spread = tuple(attributes.get("rhs_dilation") or ones)
    turned = tuple(attributes.get("window_reversal") or (False,) * rank)
    padding = padding_pairs(attributes.get("padding"), rank)
    found: list[_Dilated] = []
    for k in (k for k in range(rank) if gaps[k] != 1):
        if strides[k] != 1 or spread[k] != 1:
            return []
        lhs, rhs, out = (labels[name].index(str(k)) for name in ("input", "kernel", "output"))
        size, window = shape_of(op.operands[0])[lhs], shape_of(op.operands[1])[rhs]
        results = shape_of(op.results[0])[out]
        each = -(-results // gaps[k])
        phases = tuple(
            _phase(p, gaps[k], padding[k][0], size, window, each, bool(turned[k]))
            for p in range(gaps[k])
        )
        found.append(_Dilated(k, gaps[k], each, lhs, rhs, out, phases))
    return found


def _phase(
    remainder: int, gap: int, low: int, size: int, window: int, results: int, turned: bool
) -> _Phase:
    """Result o = gap * i + remainder meets input element (o + tap - low) / gap if it is whole."""
    first = (low - remainder) % gap
    taps = max(0, -(-(window - first) // gap))
    before = (low - remainder - first) // gap
    padding = (before, results - size - before + taps - 1)
    last = first + gap * (taps - 1)
    if turned:
        return _Phase(taps, window - 1 - last, window - first, gap, padding)
    return _Phase(taps, first, last + 1, gap, padding)


def _convolved(
    b: Builder, op: ir.Operation, attributes: Mapping[str, Any], dims: Sequence[_Dilated],
    met: Sequence[_Phase], shape: Sequence[int],
) -> ir.Value:  # fmt: skip
    """The results of one phase in every dimension."""
    element = element_of(op.results[0])
    if any(phase.taps == 0 for phase in met):
        return b.constant(0, element, shape)
    kernel = shape_of(op.operands[1])
    starts, limits, steps = [0] * len(kernel), list(kernel), [1] * len(kernel)
    rank = len(kernel) - 2
    padding = [list(pair) for pair in padding_pairs(attributes.get("padding"), rank)]
    gaps = list(attributes["lhs_dilation"])
    for d, phase in zip(dims, met, strict=True):
        starts[d.kernel], limits[d.kernel], steps[d.kernel] = phase.start, phase.limit, phase.step
        padding[d.index], gaps[d.index] = list(phase.padding), 1
    kept = {name: op.attributes[name] for name in op.attributes}
    kept["padding"] = b.parse(f"dense<{padding}> : tensor<{rank}x2xi64>")
    kept["lhs_dilation"] = b.integers(gaps)
    taps = _sliced(b, op.operands[1], starts, limits, steps)
    return b.one("convolution", [op.operands[0], taps], b.tensor(shape, element), kept)


def _sliced(
    b: Builder, value: ir.Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]
) -> ir.Value:
    """A slice, made ahead of what turns a tensor around: each reader then turns its own part."""
    made = value.owner
    if isinstance(made, ir.Block) or made.name not in ("hlo.reverse", "hlo.transpose"):
        return b.slice(value, starts, limits, steps)
    source = made.operands[0]
    if made.name == "hlo.transpose":
        order = [int(d) for d in decode_attribute(made.attributes["permutation"])]
        place = [order.index(d) for d in range(len(order))]
        parts = ([of[d] for d in place] for of in (starts, limits, steps))
        return b.transpose(_sliced(b, source, *parts), order)
    turned = {int(d) for d in decode_attribute(made.attributes["dimensions"])}
    first, last = list(starts), list(limits)
    for d in turned:
        size = shape_of(value)[d]
        count = -(-(limits[d] - starts[d]) // steps[d])
        end = starts[d] + (count - 1) * steps[d]  # the last one taken, the first of the source
        first[d], last[d] = size - 1 - end, size - starts[d]
    part = _sliced(b, source, first, last, steps)
    if not (left := [d for d in sorted(turned) if shape_of(part)[d] > 1]):
        return part
    return b.one("reverse", [part], part.type, {"dimensions": b.integers(left)})


def _products_with_zero(
    b: Builder, op: ir.Operation, labels: Mapping[str, tuple[str, ...]]
) -> ir.Value:
    """What each tap adds to each feature where the input is zero, in the result's type."""
    kernel = op.operands[1]
    if element_of(kernel) != element_of(op.results[0]):
        kernel = b.one("convert", [kernel], b.tensor(shape_of(kernel), element_of(op.results[0])))
    products = b.multiply(kernel, b.constant_like(0.0, kernel))
    return b.sum(products, [labels["kernel"].index("i")])


def _sum_of_others(
    b: Builder, zeros: ir.Value, labels: Mapping[str, tuple[str, ...]], dims: Sequence[_Dilated],
    met: Sequence[_Phase],
) -> ir.Value:  # fmt: skip
    """`zeros` of the taps that a phase does not meet, added up for each output feature."""
    names = [name for name in labels["kernel"] if name != "i"]
    shape = shape_of(zeros)
    used = np.ones([size if name != "o" else 1 for name, size in zip(names, shape, strict=True)])
    for d, phase in zip(dims, met, strict=True):
        chosen = np.zeros(shape[names.index(str(d.index))])
        chosen[phase.start : phase.limit : phase.step] = phase.taps > 0
        sides = [1] * len(names)
        sides[names.index(str(d.index))] = len(chosen)
        used = used * chosen.reshape(sides)
    others = np.broadcast_to(used == 0, shape)
    mask = b.constant_array(np.ascontiguousarray(others), b.integer_type(1))
    kept = b.one("select", [mask, zeros, b.constant_like(0.0, zeros)], zeros.type)
    return b.sum(kept, [i for i, name in enumerate(names) if name != "o"])


def _together(
    b: Builder, results: Mapping[tuple[int, ...], ir.Value], dims: Sequence[_Dilated]
) -> ir.Value:
    """The results of all phases in turn, along every split dimension."""
    if not dims:
        return results[()]
    *outer, last = dims
    joined: dict[tuple[int, ...], ir.Value] = {}
    for phase in itertools.product(*(range(d.gap) for d in outer)):
        parts = [results[(*phase, p)] for p in range(last.gap)]
        shape = shape_of(parts[0])
        front, rest = list(shape[: last.output + 1]), list(shape[last.output + 1 :])
        pieces = [b.reshape(part, [*front, 1, *rest]) for part in parts]
        whole = b.concatenate(pieces, last.output + 1)
        front[-1] *= last.gap
        joined[phase] = b.reshape(whole, [*front, *rest])
    return _together(b, joined, outer)
