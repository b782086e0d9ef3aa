"""Public operations: traced where a function is being traced, compiled and run elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hlo.frontend.trace import is_tracing

P = ParamSpec("P")
R = TypeVar("R")


def operation(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function of traced arrays callable outside of `jit` too.

    There its NumPy arguments become arguments of a program that is compiled (once for their shapes
    and dtypes and for the values of all other arguments) and run; results are NumPy arrays.
    """

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        if is_tracing():
            return function(*args, **options)
        from hlo.frontend.eager import run

        return run(function, args, options)

    return call
