"""Reductions, windowed reductions and scans along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import DtypeLike, highest, kind, lowest
from hlo.frontend.operands import normalized_axes, normalized_axis, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.pytree import tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import constant, emit
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import elementwise as ew
from hlo.lax import shapes

Computation = Callable[..., Any]


def _computation(
    function: Computation, avals: Sequence[ShapeDtype], definition: Any
) -> Callable[..., Sequence[Tracer]]:
    """A region body on flat scalars for a function of two pytrees of scalars."""
    count = len(avals)

    def body(*scalars: Tracer) -> Sequence[Tracer]:
        left = tree_unflatten(definition, scalars[:count])
        right = tree_unflatten(definition, scalars[count:])
        results, found = tree_flatten(function(left, right))
        results = [to_tracer(r, a.dtype) for r, a in zip(results, avals, strict=False)]
        if found != definition or [r.aval for r in results] != list(avals):
            raise shape_error(
                "hlo.reduce",
                f"expected the computation to give {', '.join(map(str, avals))}, found "
                f"{', '.join(str(r.aval) for r in results)}",
            )
        return results

    return body


def _inputs(
    op: str, operands: Any, init_values: Any
) -> tuple[list[Tracer], list[Tracer], list[ShapeDtype], Any]:
    leaves, definition = tree_flatten(operands)
    arrays = [to_tracer(leaf) for leaf in leaves]
    init_leaves, init_definition = tree_flatten(init_values)
    if not arrays or init_definition != definition:
        raise shape_error(op, "expected one initial value for each of at least one operand")
    inits = [to_tracer(i, a.dtype) for i, a in zip(init_leaves, arrays, strict=True)]
    scalars = [ShapeDtype((), array.dtype) for array in arrays]
    for init, scalar, array in zip(inits, scalars, arrays, strict=True):
        if init.aval != scalar:
            raise shape_error(op, f"expected an initial value {scalar}, found {init.aval}")
        if array.shape != arrays[0].shape:
            raise shape_error(
                op, f"expected operands of one shape, found {arrays[0].aval} and {array.aval}"
            )
    return arrays, inits, scalars, definition


@operation
def reduce(
    operands: Any, init_values: Any, computation: Computation, dimensions: Sequence[int]
) -> Any:
    """Reduces arrays of one shape together over dimensions.

    Args:
        operands: an array, or a pytree of arrays.
        init_values: a scalar for each, which the computation leaves as it is.
        computation: (accumulated, element) -> accumulated, on pytrees of scalars; associative.
        dimensions: the dimensions to reduce.
    """
    arrays, inits, scalars, definition = _inputs("hlo.reduce", operands, init_values)
    axes = normalized_axes("hlo.reduce", tuple(dimensions), arrays[0].ndim)
    shape = [e for axis, e in enumerate(arrays[0].shape) if axis not in axes]
    results = emit(
        "reduce",
        (*arrays, *inits),
        [array.aval.with_shape(shape) for array in arrays],
        {"dimensions": attributes.i64s(sorted(axes))},
        [((*scalars, *scalars), _computation(computation, scalars, definition))],
    )
    return tree_unflatten(definition, results)


def _reduce_with(
    operand: ArrayLike, init: Any, function: Computation, axes: Sequence[int]
) -> Tracer:
    x = to_tracer(operand)
    if not tuple(axes):
        return x
    return reduce(x, constant(np.asarray(init, x.dtype)), function, axes)


@operation
def reduce_sum(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Sum over axes."""
    return _reduce_with(operand, 0, ew.add, axes)


@operation
def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Product over axes."""
    return _reduce_with(operand, 1, ew.mul, axes)


@operation
def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Greatest element over axes; NaN if one is."""
    x = to_tracer(operand)
    return _reduce_with(x, _identity("max", x.dtype), ew.max, axes)


@operation
def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Least element over axes; NaN if one is."""
    x = to_tracer(operand)
    return _reduce_with(x, _identity("min", x.dtype), ew.min, axes)


@operation
def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """And of bits over axes; for bool: whether all are true."""
    x = to_tracer(operand)
    ones = np.bool_(True) if kind(x.dtype) == "b" else np.asarray(-1).astype(x.dtype)
    return _reduce_with(x, ones, ew.bitwise_and, axes)


@operation
def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Or of bits over axes; for bool: whether any is true."""
    return _reduce_with(operand, 0, ew.bitwise_or, axes)


@operation
def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Tracer:
    """Exclusive or of bits over axes."""
    return _reduce_with(operand, 0, ew.bitwise_xor, axes)


def _identity(which: str, dtype: np.dtype[Any]) -> Any:
    if kind(dtype) == "c":
        bound = np.inf if which == "min" else -np.inf
        return dtype.type(complex(bound, bound))
    return highest(dtype) if which == "min" else lowest(dtype)


@operation
def argmax(operand: ArrayLike, axis: int, index_dtype: DtypeLike = np.int32) -> Tracer:
    """Index of the greatest element along an axis: of the first one, and of a NaN before all."""
    return _arg_extreme(operand, axis, index_dtype, "max")


@operation
def argmin(operand: ArrayLike, axis: int, index_dtype: DtypeLike = np.int32) -> Tracer:
    """Index of the least element along an axis: of the first one, and of a NaN before all."""
    return _arg_extreme(operand, axis, index_dtype, "min")


def _arg_extreme(operand: ArrayLike, axis: int, index_dtype: DtypeLike, which: str) -> Tracer:
    x = to_tracer(operand)
    axis = normalized_axis(f"hlo.arg{which}", axis, x.ndim)
    if x.shape[axis] == 0:
        raise shape_error(f"hlo.arg{which}", f"no element along axis {axis} of {x.aval}")
    better = ew.gt if which == "max" else ew.lt

    def pick(left: tuple[Tracer, Tracer], right: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        (a, i), (b, j) = left, right
        a_nan, b_nan = ew.ne(a, a), ew.ne(b, b)
        # NaN comes before every number, and of equal elements or NaNs the first index counts.
        alike = ew.bitwise_or(ew.eq(a, b), ew.bitwise_and(a_nan, b_nan))
        left_wins = ew.bitwise_or(better(a, b), ew.bitwise_and(a_nan, ew.bitwise_not(b_nan)))
        first = ew.bitwise_and(alike, ew.lt(i, j))
        takes_left = ew.bitwise_or(left_wins, first)
        return ew.select(takes_left, a, b), ew.select(takes_left, i, j)

    index = shapes.broadcasted_iota(index_dtype, x.shape, axis)
    inits = (constant(np.asarray(_identity(which, x.dtype))), constant(np.asarray(0, index.dtype)))
    return reduce((x, index), inits, pick, (axis,))[1]


@operation
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Computation,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduces every window of arrays of one shape.

    Args:
        operand: an array, or a pytree of arrays.
        init_value: a scalar for each, also the value of padding.
        computation: (accumulated, element) -> accumulated.
        window_dimensions: the window's extents.
        window_strides: steps between windows, 1 by default.
        padding: ``VALID``, ``SAME``, or (low, high) for each dimension.
        base_dilation: spacing of the operand's elements, 1 by default.
        window_dilation: spacing of the window's elements, 1 by default.
    """
    arrays, inits, scalars, definition = _inputs("hlo.reduce_window", operand, init_value)
    rank = arrays[0].ndim
    ones = (1,) * rank
    window = tuple(window_dimensions)
    strides = tuple(window_strides or ones)
    base, dilation = tuple(base_dilation or ones), tuple(window_dilation or ones)
    if any(len(v) != rank or any(e < 1 for e in v) for v in (window, strides, base, dilation)):
        raise shape_error(
            "hlo.reduce_window",
            f"expected {rank} positive window dimensions, strides and dilations for "
            f"{arrays[0].aval}",
        )
    pads = window_padding(
        padding, dilated(arrays[0].shape, base), dilated(window, dilation), strides
    )
    extents = padded(dilated(arrays[0].shape, base), pads)
    shape = windows(extents, dilated(window, dilation), strides)
    results = emit(
        "reduce_window",
        (*arrays, *inits),
        [array.aval.with_shape(shape) for array in arrays],
        {
            "window_dimensions": attributes.i64s(window),
            "window_strides": attributes.i64s(strides),
            "base_dilations": attributes.i64s(base),
            "window_dilations": attributes.i64s(dilation),
            "padding": attributes.pairs(pads),
        },
        [((*scalars, *scalars), _computation(computation, scalars, definition))],
    )
    return tree_unflatten(definition, results)


def dilated(shape: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Extents once elements are spaced."""
    return tuple((e - 1) * d + 1 if e else 0 for e, d in zip(shape, dilation, strict=True))


def padded(shape: Sequence[int], pads: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Extents with padding."""
    return tuple(e + low + high for e, (low, high) in zip(shape, pads, strict=True))


def windows(shape: Sequence[int], window: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """How many windows fit."""
    return tuple(
        0 if w > e else (e - w) // s + 1 for e, w, s in zip(shape, window, strides, strict=True)
    )


def window_padding(
    padding: str | Sequence[tuple[int, int]],
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
) -> list[tuple[int, int]]:
    """Padding of each dimension: ``VALID`` none; ``SAME`` and ``SAME_LOWER`` give ceil(e / stride)
    windows, the odd element of padding after or before."""
    if not isinstance(padding, str):
        pads = [(int(low), int(high)) for low, high in padding]
        if len(pads) != len(shape):
            raise shape_error(
                "padding", f"expected {len(shape)} pairs (low, high), found {list(padding)}"
            )
        return pads
    if padding.upper() == "VALID":
        return [(0, 0)] * len(shape)
    if padding.upper() not in ("SAME", "SAME_LOWER"):
        raise shape_error(
            "padding", f"expected VALID, SAME, SAME_LOWER or pairs, found {padding!r}"
        )
    pads = []
    for extent, size, stride in zip(shape, window, strides, strict=True):
        total = max(0, (-(-extent // stride) - 1) * stride + size - extent)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if padding.upper() == "SAME" else (large, small))
    return pads


@operation
def select_and_scatter(
    operand: ArrayLike,
    select: Callable[[Tracer, Tracer], Tracer],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    source: ArrayLike,
    init_value: ArrayLike,
    scatter: Callable[[Tracer, Tracer], Tracer],
) -> Tracer:
    """For each window adds a source element at the place `select` chooses in it."""
    x, y = to_tracer(operand), to_tracer(source)
    init = to_tracer(init_value, x.dtype)
    scalar = ShapeDtype((), x.dtype)
    return emit(
        "select_and_scatter",
        (x, y, init),
        (x.aval,),
        {
            "window_dimensions": attributes.i64s(window_dimensions),
            "window_strides": attributes.i64s(window_strides),
            "padding": attributes.pairs(list(padding)),
        },
        [
            ((scalar, scalar), lambda a, b: (select(a, b),)),
            ((scalar, scalar), lambda a, b: (scatter(a, b),)),
        ],
    )[0]


@operation
def associative_scan(
    function: Computation, elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All partial results of an associative function along an axis.

    Work is linear and depth logarithmic: pairs are combined, the half-length problem is solved, and
    the other half follows from it (Blelloch, Prefix Sums and Their Applications, 1990).
    """
    leaves, definition = tree_flatten(elems)
    arrays = [to_tracer(leaf) for leaf in leaves]
    axis = normalized_axis("associative_scan", axis, arrays[0].ndim)
    if reverse:
        arrays = [shapes.rev(a, (axis,)) for a in arrays]

    def combine(left: list[Tracer], right: list[Tracer]) -> list[Tracer]:
        joined = function(tree_unflatten(definition, left), tree_unflatten(definition, right))
        return [to_tracer(leaf) for leaf in tree_flatten(joined)[0]]

    results = _scan_pairs(combine, arrays, axis)
    if reverse:
        results = [shapes.rev(r, (axis,)) for r in results]
    return tree_unflatten(definition, results)


def _scan_pairs(
    combine: Callable[[list[Tracer], list[Tracer]], list[Tracer]], arrays: list[Tracer], axis: int
) -> list[Tracer]:
    count = arrays[0].shape[axis]
    if count < 2:
        return arrays

    def every_second(xs: list[Tracer], start: int, limit: int | None = None) -> list[Tracer]:
        return [shapes.slice_in_dim(x, start, limit, 2, axis) for x in xs]

    def part(xs: list[Tracer], start: int, limit: int | None) -> list[Tracer]:
        return [shapes.slice_in_dim(x, start, limit, 1, axis) for x in xs]

    odd = _scan_pairs(combine, combine(every_second(arrays, 0, -1), every_second(arrays, 1)), axis)
    lead = part(odd, 0, -1) if count % 2 == 0 else odd
    rest = combine(lead, every_second(arrays, 2))
    even = [
        shapes.concatenate([first, r], axis)
        for first, r in zip(part(arrays, 0, 1), rest, strict=True)
    ]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleave(even: Tracer, odd: Tracer, axis: int) -> Tracer:
    count = even.shape[axis] + odd.shape[axis]
    # -0.0 + x is x for every x, also for -0.0.
    zero = constant(-np.zeros((), even.dtype) if even.dtype != np.bool_ else np.asarray(False))
    no_padding = (0, 0, 0)

    def spread(x: Tracer, low: int, high: int) -> Tracer:
        config: list[tuple[int, int, int]] = [no_padding] * x.ndim
        config[axis] = (low, high, 1)
        return shapes.pad(x, zero, config)

    last_is_even = count % 2
    return (ew.bitwise_or if even.dtype == np.bool_ else ew.add)(
        spread(even, 0, 1 - last_is_even), spread(odd, 1, last_is_even)
    )


def _running(
    operand: ArrayLike, axis: int, reverse: bool, function: Computation, identity: Any
) -> Tracer:
    """A window over all elements up to each one; the compiler does it in one pass."""
    x = to_tracer(operand)
    place = normalized_axis("cumulative", axis, x.ndim)
    extent = x.shape[place]
    if extent < 2:
        return x
    window, pads = [1] * x.ndim, [(0, 0)] * x.ndim
    window[place] = extent
    pads[place] = (0, extent - 1) if reverse else (extent - 1, 0)
    init = constant(np.asarray(identity, x.dtype))
    return reduce_window(x, init, function, window, padding=pads)


@operation
def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tracer:
    """Partial sums along an axis."""
    x = to_tracer(operand)
    # -0.0 + x is x for every x, also for -0.0.
    zero = -0.0 if kind(x.dtype) == "f" else 0
    return _running(x, axis, reverse, ew.add, zero)


@operation
def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tracer:
    """Partial products along an axis."""
    return _running(operand, axis, reverse, ew.mul, 1)


@operation
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tracer:
    """Partial maxima along an axis."""
    x = to_tracer(operand)
    return _running(x, axis, reverse, ew.max, _identity("max", x.dtype))


@operation
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tracer:
    """Partial minima along an axis."""
    x = to_tracer(operand)
    return _running(x, axis, reverse, ew.min, _identity("min", x.dtype))
