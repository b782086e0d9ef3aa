"""reduce, reduce_window, select_and_scatter, map and scan.

The specification leaves the order of a reduction open (any in-order binary tree). Here it is the
balanced tree of neighbours, whose rounding error grows with the logarithm of the extent; sums and
products of floats are accumulated in wide precision and rounded once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hlo.reference.computation import Computation, accumulated, accumulator_of
from hlo.reference.data_movement import pad
from hlo.reference.element_types import Array, widen


def _combine_neighbours(parts: list[Array], body: Computation) -> list[Array]:
    """Fold the last dimension, of nonzero extent, by a balanced tree."""
    while parts[0].shape[-1] > 1:
        extent = parts[0].shape[-1]
        even = extent - extent % 2
        folded = body(*(x[..., 0:even:2] for x in parts), *(x[..., 1:even:2] for x in parts))
        parts = [
            np.concatenate([new, old[..., even:]], axis=-1)
            for new, old in zip(folded, parts, strict=True)
        ]
    return [x[..., 0] for x in parts]


def reduce(
    inputs: Sequence[Array],
    init_values: Sequence[Array],
    body: Computation,
    *,
    dimensions: Sequence[int],
) -> tuple[Array, ...]:
    """Inputs, of one shape, folded along `dimensions` by `body`, each with its scalar initial
    value.
    """
    axes = tuple(sorted(dimensions))
    kept = [d for d in range(inputs[0].ndim) if d not in axes]
    shape = tuple(inputs[0].shape[d] for d in kept)
    count = math.prod(inputs[0].shape[d] for d in axes)
    if count == 0 or 0 in shape:
        return tuple(
            np.full(shape, init, x.dtype) for x, init in zip(inputs, init_values, strict=True)
        )
    ufunc = accumulator_of(body, inputs[0].dtype)
    if ufunc is not None and len(inputs) == 1:
        wide = widen(inputs[0])
        with np.errstate(all="ignore"):
            total = ufunc.reduce(wide, axis=axes, dtype=wide.dtype)
            result = ufunc(widen(init_values[0]), total)
        return (accumulated(np.asarray(result), inputs[0].dtype),)
    rows = [x.transpose((*kept, *axes)).reshape((*shape, count)) for x in inputs]
    folded = _combine_neighbours(rows, body)
    starts = [np.broadcast_to(np.asarray(init), shape) for init in init_values]
    return tuple(np.asarray(x) for x in body(*starts, *folded))


def map_(inputs: Sequence[Array], computation: Computation) -> tuple[Array, ...]:
    """`computation` of the inputs, elementwise."""
    return tuple(np.asarray(x) for x in computation(*inputs))


def scan(
    inputs: Sequence[Array],
    inits: Sequence[Array],
    body: Callable[..., Sequence[Array]],
    *,
    dimension: int,
    steps: int,
    is_reverse: bool = False,
) -> tuple[Array, ...]:
    """Outputs of `body` at each of `steps` (at least one) along `dimension`, stacked, then the
    final carries.

    `body` takes a slice of each input, without `dimension`, and the carries; it returns outputs,
    then new carries.
    """
    order = range(steps - 1, -1, -1) if is_reverse else range(steps)
    carries = list(inits)
    outputs: list[list[Array]] = []
    for step in order:
        results = list(body(*(x.take(step, axis=dimension) for x in inputs), *carries))
        split = len(results) - len(carries)
        outputs.append(results[:split])
        carries = results[split:]
    if is_reverse:
        outputs.reverse()
    stacked = [np.stack(column, axis=dimension) for column in zip(*outputs, strict=True)]
    return (*stacked, *carries)


@dataclass(frozen=True)
class _Window:
    """Windows of `extent` elements, `dilation` apart, at every `stride`-th position along
    `axis`.
    """

    axis: int
    extent: int
    stride: int
    dilation: int


def dilated_extent(extent: int, dilation: int) -> int:
    """Extent after `dilation - 1` holes between neighbours."""
    return 0 if extent == 0 else (extent - 1) * dilation + 1


def window_count(extent: int, window: int, stride: int) -> int:
    """How many windows of a (dilated) extent fit."""
    return 0 if extent == 0 or window > extent else (extent - window) // stride + 1


def _window_leaves(
    padded: Sequence[Array],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    window_dilations: Sequence[int],
    shape: Sequence[int],
) -> list[list[Array]]:
    """For each position in the window, views of the inputs at that position of every window."""
    leaves: list[list[Array]] = []
    for position in itertools.product(*(range(n) for n in window_dimensions)):
        region = tuple(
            slice(p * dilation, p * dilation + (n - 1) * stride + 1, stride)
            for p, dilation, stride, n in zip(
                position, window_dilations, window_strides, shape, strict=True
            )
        )
        leaves.append([x[region] for x in padded])
    return leaves


def _fold_windows(parts: Sequence[Array], body: Computation, window: _Window) -> list[Array]:
    """Each window along one axis folded in order, by doubling: windows of one, two, four, ...
    elements.
    """
    power = [np.moveaxis(x, window.axis, -1) for x in parts]
    count = power[0].shape[-1] - (window.extent - 1) * window.dilation
    folded: list[Array] | None = None
    covered, size = 0, 1
    while True:
        if window.extent & size:
            start = covered * window.dilation
            block = [x[..., start : start + count] for x in power]
            folded = block if folded is None else [np.asarray(x) for x in body(*folded, *block)]
            covered += size
        if covered == window.extent:
            break
        shift = size * window.dilation
        power = [
            np.asarray(x)
            for x in body(*(x[..., :-shift] for x in power), *(x[..., shift:] for x in power))
        ]
        size *= 2
    assert folded is not None
    return [np.moveaxis(x[..., :: window.stride], -1, window.axis) for x in folded]


def reduce_window(
    inputs: Sequence[Array],
    init_values: Sequence[Array],
    body: Computation,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
) -> tuple[Array, ...]:
    """Each window of the padded, dilated inputs folded by `body`.

    Padding and holes hold the initial value.
    """
    rank = inputs[0].ndim
    ones = [1] * rank
    strides = list(window_strides or ones)
    holes = list(base_dilations or ones)
    dilations = list(window_dilations or ones)
    edges = [tuple(edge) for edge in padding] if padding is not None else [(0, 0)] * rank
    padded = [
        pad(
            x,
            init,
            edge_padding_low=[low for low, _ in edges],
            edge_padding_high=[high for _, high in edges],
            interior_padding=[hole - 1 for hole in holes],
        )
        for x, init in zip(inputs, init_values, strict=True)
    ]
    shape = [
        window_count(extent, dilated_extent(window, dilation), stride)
        for extent, window, dilation, stride in zip(
            padded[0].shape, window_dimensions, dilations, strides, strict=True
        )
    ]
    starts = [np.full(shape, init, x.dtype) for x, init in zip(inputs, init_values, strict=True)]
    if 0 in shape or 0 in window_dimensions:
        return tuple(starts)
    windows = [
        _Window(axis, window, stride, dilation)
        for axis, (window, stride, dilation) in enumerate(
            zip(window_dimensions, strides, dilations, strict=True)
        )
    ]
    ufunc = accumulator_of(body, inputs[0].dtype)
    if ufunc is None or len(inputs) > 1:
        for window in reversed(windows):
            padded = _fold_windows(padded, body, window)
        return tuple(np.asarray(x) for x in body(*starts, *padded))

    def accumulate(*sides: Array) -> Sequence[Array]:
        return (ufunc(*sides),)

    with np.errstate(all="ignore"):
        wide = [widen(padded[0])]
        for window in reversed(windows):
            wide = _fold_windows(wide, accumulate, window)
        return (accumulated(ufunc(widen(starts[0]), wide[0]), inputs[0].dtype),)


def select_and_scatter(
    operand: Array,
    source: Array,
    init_value: Array,
    select: Computation,
    scatter: Computation,
    *,
    window_dimensions: Sequence[int] | None = None,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
) -> Array:
    """The initial value everywhere, with each element of `source` combined in where `select` chose
    in its window.

    `select(a, b)` holds where a is kept over b; padding is never chosen.
    """
    rank = operand.ndim
    windows = list(window_dimensions or [1] * rank)
    strides = list(window_strides or [1] * rank)
    edges = [tuple(edge) for edge in padding] if padding is not None else [(0, 0)] * rank
    zeros = [0] * rank
    lows, highs = [low for low, _ in edges], [high for _, high in edges]
    flat_index = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)

    def padded(values: Array, fill: Array) -> Array:
        return pad(
            values,
            fill,
            edge_padding_low=lows,
            edge_padding_high=highs,
            interior_padding=zeros,
        )

    leaves = _window_leaves(
        [padded(operand, np.zeros((), operand.dtype)), padded(flat_index, np.asarray(-1))],
        windows,
        strides,
        [1] * rank,
        source.shape,
    )
    chosen, where = leaves[0]
    for value, index in leaves[1:]:
        (kept,) = select(chosen, value)
        take = (index >= 0) & ((where < 0) | ~np.asarray(kept))
        chosen, where = np.where(take, value, chosen), np.where(take, index, where)
    targets = np.asarray(where).reshape(-1)
    values = source.reshape(-1)[targets >= 0]
    targets = targets[targets >= 0]
    dtype = source.dtype
    result = np.full(operand.size, init_value, dtype)
    if targets.size == 0:
        return result.reshape(operand.shape)
    ufunc = accumulator_of(scatter, dtype)
    if ufunc is not None:
        wide = np.array(widen(result))
        with np.errstate(all="ignore"):
            ufunc.at(wide, targets, widen(values))
        return accumulated(wide, dtype).reshape(operand.shape)
    for target, value in zip(targets.tolist(), values, strict=True):
        (combined,) = scatter(result[target : target + 1], np.asarray([value], dtype))
        result[target] = np.asarray(combined)[0]
    return result.reshape(operand.shape)
