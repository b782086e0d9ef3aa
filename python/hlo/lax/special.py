"""Operations that serve the compiler or the random number generators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import DtypeLike, is_integer
from hlo.frontend.operands import dtype_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.pytree import tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer

RNG_ALGORITHMS = ("DEFAULT", "THREE_FRY", "PHILOX")


@operation
def optimization_barrier(operand: Any) -> Any:
    """A pytree of the same values, across which the compiler moves nothing."""
    leaves, definition = tree_flatten(operand)
    arrays = [to_tracer(leaf) for leaf in leaves]
    if not arrays:
        return operand
    return tree_unflatten(
        definition, emit("optimization_barrier", arrays, [a.aval for a in arrays])
    )


@operation
def rng_bit_generator(
    key: ArrayLike, shape: Sequence[int], dtype: DtypeLike = np.uint32, algorithm: str = "DEFAULT"
) -> tuple[Tracer, Tracer]:
    """Random bits of a counter-based generator.

    Args:
        key: the state, uint64[2] for ``THREE_FRY``, uint64[2] or uint64[3] for ``PHILOX``.
        shape: shape of the bits.
        dtype: an integer type.
        algorithm: ``DEFAULT``, ``THREE_FRY`` or ``PHILOX``.

    Returns:
        The next state and the bits.
    """
    state, bits = to_tracer(key), ShapeDtype(shape, dtype)
    if not is_integer(bits.dtype) or algorithm.upper() not in RNG_ALGORITHMS:
        raise dtype_error(
            "hlo.rng_bit_generator",
            f"expected an integer type and one of {RNG_ALGORITHMS}, found {bits} and {algorithm}",
        )
    attribute = {"rng_algorithm": attributes.enum("rng_algorithm", algorithm.upper())}
    first, second = emit("rng_bit_generator", (state,), (state.aval, bits), attribute)
    return first, second
