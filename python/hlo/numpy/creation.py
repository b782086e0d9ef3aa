"""Arrays from nothing, from numbers, and from nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil as ceil_of
from typing import Any

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import (
    DEFAULT_FLOAT,
    DtypeLike,
    canonical_dtype,
    inexact_dtype,
    is_integer,
    is_python_scalar,
    kind,
    promote_types,
)
from hlo.frontend.operands import (
    broadcast_to,
    convert,
    dtype_of,
    promoted,
    shape_error,
    shape_of,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer

Shape = int | Sequence[int]


def as_shape(shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple; a single extent may be a number."""
    if isinstance(shape, Tracer):
        shape.__index__()
    extents = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    found = tuple(extent.__index__() for extent in extents)
    if any(extent < 0 for extent in found):
        raise shape_error("shape", f"expected extents >= 0, found {found}")
    return found


@operation
def array(object: Any, dtype: DtypeLike = None, ndmin: int = 0) -> Tracer:
    """An array of an array-like or of nested lists of them.

    Python numbers in lists are weakly typed beside arrays; alone they are int32, float32,
    complex64.
    """
    if not isinstance(object, (list, tuple)):
        made = to_tracer(object, None if dtype is None else canonical_dtype(dtype))
    elif _has_tracer(object) or dtype is None:
        made = _stack(object)
    else:
        made = to_tracer(np.asarray(object).astype(canonical_dtype(dtype)))
    if dtype is not None:
        made = convert(made, canonical_dtype(dtype))
    missing = ndmin - made.ndim
    return lax.reshape(made, (1,) * missing + made.shape) if missing > 0 else made


asarray = array


def _has_tracer(object: Any) -> bool:
    if isinstance(object, (list, tuple)):
        return any(map(_has_tracer, object))
    return isinstance(object, Tracer)


def _leaves(object: Any) -> list[Any]:
    if isinstance(object, (list, tuple)):
        return [leaf for part in object for leaf in _leaves(part)]
    return [object]


def _stack(object: Sequence[Any]) -> Tracer:
    leaves = _leaves(object)
    dtype = promote_types(dtype_of(leaf) for leaf in leaves) if leaves else DEFAULT_FLOAT
    if not _has_tracer(object):
        _check_range(leaves, dtype)
        try:
            return to_tracer(np.asarray(object, dtype))
        except ValueError as error:
            raise shape_error("array", f"nested lists do not form an array: {error}") from None
    return _stack_parts(object, dtype)


def _check_range(leaves: Sequence[Any], dtype: np.dtype[Any]) -> None:
    if is_integer(dtype):
        for leaf in leaves:
            if is_python_scalar(leaf):
                broadcast_to(leaf, dtype, ())


def _stack_parts(object: Any, dtype: np.dtype[Any]) -> Tracer:
    if not isinstance(object, (list, tuple)):
        return broadcast_to(object, dtype, shape_of(object))
    parts = [_stack_parts(part, dtype) for part in object]
    if not parts:
        return lax.full((0,), 0, dtype)
    if any(part.shape != parts[0].shape for part in parts):
        found = ", ".join(str(part.shape) for part in parts)
        raise shape_error("array", f"expected parts of one shape, found {found}")
    return lax.concatenate([lax.expand_dims(part, (0,)) for part in parts], 0)


@operation
def zeros(shape: Shape, dtype: DtypeLike = None) -> Tracer:
    """Zeros, float32 by default."""
    return lax.full(as_shape(shape), 0, DEFAULT_FLOAT if dtype is None else dtype)


@operation
def ones(shape: Shape, dtype: DtypeLike = None) -> Tracer:
    """Ones, float32 by default."""
    return lax.full(as_shape(shape), 1, DEFAULT_FLOAT if dtype is None else dtype)


@operation
def empty(shape: Shape, dtype: DtypeLike = None) -> Tracer:
    """Zeros: no array has unknown contents."""
    return zeros(shape, dtype)


@operation
def full(shape: Shape, fill_value: ArrayLike, dtype: DtypeLike = None) -> Tracer:
    """An array filled with a value, which is broadcast."""
    target = canonical_dtype(dtype) if dtype is not None else promote_types((dtype_of(fill_value),))
    return broadcast_to(fill_value, target, as_shape(shape))


@operation
def zeros_like(a: ArrayLike, dtype: DtypeLike = None, shape: Shape | None = None) -> Tracer:
    """Zeros of an array's shape and dtype."""
    return full_like(a, 0, dtype, shape)


@operation
def ones_like(a: ArrayLike, dtype: DtypeLike = None, shape: Shape | None = None) -> Tracer:
    """Ones of an array's shape and dtype."""
    return full_like(a, 1, dtype, shape)


empty_like = zeros_like


@operation
def full_like(
    a: ArrayLike, fill_value: ArrayLike, dtype: DtypeLike = None, shape: Shape | None = None
) -> Tracer:
    """An array filled with a value, of another array's shape and dtype."""
    like = to_tracer(a)
    target = like.dtype if dtype is None else canonical_dtype(dtype)
    return broadcast_to(fill_value, target, like.shape if shape is None else as_shape(shape))


@operation
def arange(
    start: ArrayLike, stop: ArrayLike = None, step: ArrayLike = 1, dtype: DtypeLike = None
) -> Tracer:
    """Numbers from `start` by `step` to below `stop`; all of them known when tracing."""
    if stop is None:
        start, stop = 0, start
    for bound in (start, stop, step):
        if isinstance(bound, Tracer):
            bound.__index__()
    found = promote_types(map(dtype_of, (start, stop, step)))
    target = found if dtype is None else canonical_dtype(dtype)
    if step == 0:
        raise shape_error("arange", "expected a step that is not 0")
    count = max(0, ceil_of((stop - start) / step))
    if kind(target) == "b":
        return to_tracer(np.arange(start, stop, step).astype(bool))
    counted = lax.iota(target, count)
    if step != 1:
        counted = lax.mul(counted, broadcast_to(step, target, (count,)))
    return counted if start == 0 else lax.add(counted, broadcast_to(start, target, (count,)))


@operation
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DtypeLike = None,
    axis: int = 0,
) -> Tracer:
    """Evenly spaced numbers from `start` to `stop`."""
    common = inexact_dtype(promote_types((dtype_of(start), dtype_of(stop))))
    first, last = promoted("linspace", start, stop, dtype=common)
    intervals = num - 1 if endpoint else num
    count = intervals if endpoint and num > 1 else num
    column = (count,) + (1,) * first.ndim
    steps = lax.reshape(lax.iota(common, count), column)
    fraction = lax.div(steps, float(max(intervals, 1)))
    shape = (count, *first.shape)
    fraction = broadcast_to(fraction, common, shape)
    low, high = (broadcast_to(v, common, shape) for v in (first, last))
    points = lax.add(lax.mul(low, lax.sub(1.0, fraction)), lax.mul(high, fraction))
    if endpoint and num > 1:
        points = lax.concatenate([points, lax.expand_dims(last, (0,))], 0)
    if dtype is not None:
        target = canonical_dtype(dtype)
        points = convert(lax.floor(points) if is_integer(target) else points, target)
    order = list(range(1, points.ndim))
    order.insert(axis % points.ndim, 0)
    return lax.transpose(points, order)


@operation
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DtypeLike = None,
) -> Tracer:
    """Powers of `base` with evenly spaced exponents."""
    exponents = linspace(start, stop, num, endpoint)
    powers = lax.pow(broadcast_to(base, exponents.dtype, exponents.shape), exponents)
    return powers if dtype is None else convert(powers, canonical_dtype(dtype))


@operation
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DtypeLike = None,
) -> Tracer:
    """Numbers with a constant ratio from `start` to `stop`, both positive."""
    common = inexact_dtype(promote_types((dtype_of(start), dtype_of(stop))))
    first, last = promoted("geomspace", start, stop, dtype=common)
    ratio = linspace(lax.full((), 0, common), lax.log(lax.div(last, first)), num, endpoint)
    points = lax.mul(broadcast_to(first, common, ratio.shape), lax.exp(ratio))
    if endpoint and num > 1:
        points = points.at[-1].set(last)
    return points if dtype is None else convert(points, canonical_dtype(dtype))


@operation
def eye(n: int, m: int | None = None, k: int = 0, dtype: DtypeLike = None) -> Tracer:
    """Ones on a diagonal, zeros elsewhere."""
    shape = (n, n if m is None else m)
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    columns = lax.broadcasted_iota(np.int32, shape, 1)
    target = DEFAULT_FLOAT if dtype is None else canonical_dtype(dtype)
    return convert(lax.eq(lax.add(rows, k), columns), target)


@operation
def identity(n: int, dtype: DtypeLike = None) -> Tracer:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@operation
def tri(n: int, m: int | None = None, k: int = 0, dtype: DtypeLike = None) -> Tracer:
    """Ones at and below a diagonal, zeros above."""
    shape = (n, n if m is None else m)
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    columns = lax.broadcasted_iota(np.int32, shape, 1)
    target = DEFAULT_FLOAT if dtype is None else canonical_dtype(dtype)
    return convert(lax.ge(lax.add(rows, k), columns), target)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Rows and columns at and below a diagonal, known when tracing."""
    return _known_indices(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Rows and columns at and above a diagonal, known when tracing."""
    return _known_indices(np.triu_indices(n, k, m))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Indices of the diagonal of an array with equal extents, known when tracing."""
    return (np.arange(n, dtype=np.int32),) * ndim


def _known_indices(found: tuple[Any, Any]) -> tuple[Any, Any]:
    return found[0].astype(np.int32), found[1].astype(np.int32)


@operation
def meshgrid(*xs: ArrayLike, indexing: str = "xy", sparse: bool = False) -> list[Tracer]:
    """Coordinate arrays of a grid of vectors."""
    vectors = [to_tracer(x) for x in xs]
    if indexing not in ("xy", "ij") or any(v.ndim > 1 for v in vectors):
        raise shape_error("meshgrid", f"expected vectors and 'xy' or 'ij', found {indexing!r}")
    vectors = [lax.reshape(v, (v.size,)) for v in vectors]
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        axes[:2] = [1, 0]
    shape = [0] * len(vectors)
    for axis, vector in zip(axes, vectors, strict=True):
        shape[axis] = vector.size
    made: list[Tracer] = []
    for axis, vector in zip(axes, vectors, strict=True):
        sizes = [1] * len(vectors)
        sizes[axis] = vector.size
        made.append(
            lax.reshape(vector, sizes) if sparse else lax.broadcast_in_dim(vector, shape, (axis,))
        )
    return made


@operation
def indices(dimensions: Sequence[int], dtype: DtypeLike = np.int32) -> Tracer:
    """Stacked index arrays of a grid."""
    shape = as_shape(dimensions)
    grids = [lax.broadcasted_iota(dtype, (1, *shape), i + 1) for i in range(len(shape))]
    return lax.concatenate(grids, 0) if grids else lax.full((0,), 0, dtype)
