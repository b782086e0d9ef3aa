"""Sorting and selection of the greatest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import is_complex, is_float
from hlo.frontend.operands import normalized_axis, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit, splat
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import elementwise as ew


def _sort_key(x: Tracer) -> tuple[Tracer, ...]:
    """Keys whose total order is the sorting order: zeros are equal, NaNs are last and equal."""
    if is_complex(x.dtype):
        return (*_sort_key(ew.real(x)), *_sort_key(ew.imag(x)))
    if not is_float(x.dtype):
        return (x,)
    zero, nan = splat(x.dtype.type(0), ()), splat(x.dtype.type(np.nan), ())
    same_zeros = ew.select(ew.eq(x, zero), zero, x)
    return (ew.select(ew.ne(x, x), nan, same_zeros),)


def _less(left: Tracer, right: Tracer) -> Tracer:
    return ew.compare(left, right, "LT", total_order=is_float(left.dtype))


def _lexicographic(lefts: Sequence[Tracer], rights: Sequence[Tracer]) -> Tracer:
    keys = [
        pair
        for left, right in zip(lefts, rights, strict=True)
        for pair in zip(_sort_key(left), _sort_key(right), strict=True)
    ]
    less: Tracer | None = None
    for left, right in reversed(keys):
        here = _less(left, right)
        if less is not None:
            here = ew.bitwise_or(here, ew.bitwise_and(ew.eq(left, right), less))
        less = here
    assert less is not None
    return less


@overload
def sort(
    operand: Tracer, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Tracer: ...


@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Tracer, ...]: ...


@operation
def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Tracer | tuple[Tracer, ...]:
    """Sorts along a dimension, in ascending order; NaNs come last.

    Args:
        operand: an array, or several of one shape that are permuted alike.
        dimension: the dimension to sort along.
        is_stable: whether equal keys keep their order.
        num_keys: how many of the operands are keys; later ones decide between equal earlier ones.
    """
    several = isinstance(operand, (tuple, list))
    arrays = [to_tracer(x) for x in operand] if several else [to_tracer(operand)]
    if not arrays or not 1 <= num_keys <= len(arrays):
        raise shape_error("hlo.sort", f"expected 1 to {len(arrays)} keys, found {num_keys}")
    if any(x.shape != arrays[0].shape for x in arrays):
        found = ", ".join(str(x.aval) for x in arrays)
        raise shape_error("hlo.sort", f"expected operands of one shape, found {found}")
    axis = normalized_axis("hlo.sort", dimension, arrays[0].ndim)
    pairs = [scalar for x in arrays for scalar in (ShapeDtype((), x.dtype),) * 2]

    def comparator(*scalars: Tracer) -> tuple[Tracer]:
        return (_lexicographic(scalars[: 2 * num_keys : 2], scalars[1 : 2 * num_keys : 2]),)

    attribute = {
        "dimension": attributes.i64(axis),
        "is_stable": attributes.boolean(is_stable),
    }
    results = emit("sort", arrays, [x.aval for x in arrays], attribute, [(pairs, comparator)])
    return results if several else results[0]


@operation
def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Tracer, Tracer]:
    """Sorts keys and moves values along with them."""
    first, second = sort((keys, values), dimension, is_stable)
    return first, second


@operation
def top_k(operand: ArrayLike, k: int) -> tuple[Tracer, Tracer]:
    """The k greatest elements along the last dimension, in descending order, and their indices.

    NaNs are greatest; of equal elements the first comes first. Indices are int32.
    """
    x = to_tracer(operand)
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise shape_error("hlo.top_k", f"cannot take {k} along the last dimension of {x.aval}")
    shape = (*x.shape[:-1], int(k))
    avals = (ShapeDtype(shape, x.dtype), ShapeDtype(shape, np.int32))
    values, indices = emit("top_k", (x,), avals, {"k": attributes.i64(k)})
    return values, indices
