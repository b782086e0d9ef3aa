"""Computations that operations such as reduce, sort and scatter take as regions.

A computation is a Python callable on arrays of one shape that works elementwise: called on whole
arrays it returns what it would for each position by itself. `elementwise` makes one of a function
of scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from hlo.reference.element_types import (
    BOOL,
    Array,
    DType,
    is_integer,
    round_to,
    wrap_integers,
)


class Computation(Protocol):
    """An elementwise function of arrays; returns one array a result."""

    def __call__(self, *arguments: Array) -> Sequence[Array]: ...


@runtime_checkable
class NamedComputation(Protocol):
    """A computation known to be one operation on its two arguments, in order."""

    @property
    def operation(self) -> str | None: ...


_FLOAT_ACCUMULATORS: dict[str, np.ufunc] = {"add": np.add, "multiply": np.multiply}
_INTEGER_ACCUMULATORS: dict[str, np.ufunc] = {
    **_FLOAT_ACCUMULATORS,
    "and": np.bitwise_and,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def accumulator_of(computation: Computation, dtype: DType) -> np.ufunc | None:
    """The ufunc by which widened values of `dtype` may be accumulated, or None.

    Of floats that is a sum or a product, to be rounded once at the end; of integers any of the
    operations that are exact modulo the width.
    """
    if not isinstance(computation, NamedComputation) or dtype == BOOL:
        return None
    table = _INTEGER_ACCUMULATORS if is_integer(dtype) else _FLOAT_ACCUMULATORS
    return table.get(computation.operation or "")


def accumulated(values: Array, dtype: DType) -> Array:
    """An accumulated result as `dtype`."""
    return wrap_integers(values, dtype) if is_integer(dtype) else round_to(values, dtype)


def elementwise(
    function: Callable[..., Sequence[Array]], result_types: Sequence[Any]
) -> Computation:
    """A computation from a function of rank-0 arrays, by calling it for each position."""

    def apply(*arguments: Array) -> Sequence[Array]:
        arrays = np.broadcast_arrays(*arguments)
        shape = arrays[0].shape
        results = [np.empty(shape, dtype) for dtype in result_types]
        for position in np.ndindex(*shape):
            values = function(*(np.asarray(x[position]) for x in arrays))
            for result, value in zip(results, values, strict=True):
                result[position] = value
        return results

    return apply


def named(operation: str, function: Callable[..., Array]) -> Computation:
    """A binary operation of this package as a computation."""

    class Named:
        @property
        def operation(self) -> str | None:
            return operation

        def __call__(self, *arguments: Array) -> Sequence[Array]:
            return (function(*arguments),)

    return cast(Computation, Named())
