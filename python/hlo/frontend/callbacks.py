"""Python functions that traced functions call while they run, under the names of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo.executable import callbacks
from hlo.frontend import attributes
from hlo.frontend.dtypes import INT32
from hlo.frontend.operands import dtype_error, to_tracer
from hlo.frontend.pytree import tree_flatten, tree_unflatten
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import current_frame, emit, is_tracing
from hlo.frontend.tracer import Tracer


def pure_callback(function: Callable[..., Any], result: Any, *args: Any) -> Any:
    """Calls a Python function of arrays from a compiled program.

    The function must depend on its arguments alone: it may be called more or less often than is
    written, or not at all where nothing uses its results. What it raises, the call of the program
    raises.

    Args:
        function: takes NumPy arrays in the structure of `args`, returns arrays in that of `result`.
        result: pytree of `hlo.ShapeDtype`: what the function returns.
        args: pytrees of arrays.

    Returns:
        What the function returns, as arrays of the program.
    """
    return _call(function, result, args, has_side_effect=False)


def io_callback(function: Callable[..., Any], result: Any, *args: Any) -> Any:
    """Calls a Python function that does more than return results: it is called as often as is
    written. `result` is None for a function whose value does not matter. See `pure_callback`.
    """
    return _call(function, result, args, has_side_effect=True)


def debug_print(text: str, *args: Any, **named: Any) -> None:
    """Prints arrays while a program runs: `debug_print("x = {}, loss = {loss}", x, loss=loss)`.

    `text` is as for `str.format`; the values are NumPy arrays.
    """

    def show(values: tuple[Any, ...], names: dict[str, Any]) -> None:
        print(text.format(*values, **names), flush=True)

    io_callback(show, None, args, named)


def _call(
    function: Callable[..., Any], result: Any, args: tuple[Any, ...], *, has_side_effect: bool
) -> Any:
    if not is_tracing():
        return function(*args)
    leaves, structure = tree_flatten(args)
    operands = [to_tracer(leaf) for leaf in leaves]
    expected, result_structure = tree_flatten(result)
    for aval in expected:
        if not isinstance(aval, ShapeDtype):
            raise dtype_error(
                "custom_call",
                f"expected hlo.ShapeDtype as the result of a callback, found {type(aval).__name__}",
            )

    def flat(*arrays: Any) -> list[Any]:
        found = function(*tree_unflatten(structure, arrays))
        return [] if result is None else tree_flatten(found)[0]

    registered = callbacks.PythonCallback(
        flat,
        tuple(callbacks.ArrayType(np.dtype(x.dtype), x.shape) for x in operands),
        tuple(callbacks.ArrayType(np.dtype(aval.dtype), aval.shape) for aval in expected),
    )
    callbacks.keep_with(current_frame().trace.module, registered)
    made = _emit(callbacks.register(registered), operands, expected, has_side_effect)
    return tree_unflatten(result_structure, made[: len(expected)])


def _emit(
    number: int, operands: list[Tracer], results: list[ShapeDtype], has_side_effect: bool
) -> tuple[Tracer, ...]:
    attribute = {
        "call_target_name": attributes.string(callbacks.TARGET),
        "has_side_effect": attributes.boolean(has_side_effect),
        "mhlo.backend_config": attributes.parsed(f"{{callback = {number} : i64}}"),
    }
    # The program has a value for every call, also for one whose function returns none.
    return emit("custom_call", operands, results or [ShapeDtype((), INT32)], attribute)
