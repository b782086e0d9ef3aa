"""Python functions that compiled programs call, such as those of `jax.pure_callback`.

A program names its functions by numbers, which hold in this process only. A function lives as long
as a module that names it (`keep_with`) or a compiled program that calls it (`Compiled`)."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlo import ir
from hlo_native import _runtime

TARGET = "hlo.python_callback"
"""Target of the custom calls; `callback` of their backend configuration is the number."""

FUNCTION = "hlo_rt_python_callback"
"""The runtime's function that does them (runtime/kernel_abi.h)."""


@dataclass(frozen=True)
class ArrayType:
    """The dtype and the shape of an operand or a result."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class PythonCallback:
    """A function of arrays that returns a sequence of arrays.

    Attributes:
        function: takes an array of its own an operand, returns an array a result.
        operands, results: their types.
    """

    function: Callable[..., Sequence[Any]]
    operands: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

    def __call__(self, *operands: Any) -> list[np.ndarray[Any, Any]]:
        """Calls the function and checks what it returns.

        Raises:
            TypeError: the results are not as many, or not of the types, that the program expects.
        """
        found = [np.asarray(result) for result in self.function(*operands)]
        types = [ArrayType(result.dtype, result.shape) for result in found]
        if types != list(self.results):
            raise TypeError(
                f"a Python callback returned {_listed(types)}, expected {_listed(self.results)}"
            )
        return found


_numbers = itertools.count(1)
_callbacks: weakref.WeakValueDictionary[int, PythonCallback] = weakref.WeakValueDictionary()


def register(callback: PythonCallback) -> int:
    """The number by which programs of this process call it, for as long as it lives."""
    number = next(_numbers)
    _callbacks[number] = callback
    return number


def find(number: int) -> PythonCallback | None:
    """The function of that number; None if it is another process's, or gone."""
    return _callbacks.get(number)


def found(numbers: Iterable[int]) -> tuple[PythonCallback, ...]:
    """The functions of those numbers that there are: whoever keeps them may call them."""
    known = map(find, numbers)
    return tuple(callback for callback in known if callback is not None)


def number_of(call: ir.Operation) -> int | None:
    """The number that a custom call of `TARGET` names; None if it names none."""
    if "mhlo.backend_config" not in call.attributes:
        return None
    config = call.attributes["mhlo.backend_config"]
    if not isinstance(config, ir.DictAttr) or "callback" not in config:
        return None
    number = config["callback"]
    return number.value if isinstance(number, ir.IntegerAttr) else None


def keep_with(owner: object, callback: PythonCallback) -> None:
    """Keeps a function for as long as an object that can be referred to weakly.

    A function that refers to its owner keeps both until the process ends.
    """
    weakref.finalize(owner, _forget, callback).atexit = False


def _forget(_: PythonCallback) -> None:
    """What holds the function has dropped it."""


def run(number: int, memory: tuple[memoryview, ...]) -> None:
    """Calls a function on the memory of its operands, and fills that of its results."""
    callback = _callbacks.get(number)
    if callback is None:
        raise RuntimeError(f"Python callback {number} went with the program that was compiled")
    count = len(callback.operands)
    arrays = [_array(part, t) for part, t in zip(memory, callback.operands, strict=False)]
    # The function may keep what it is given; the memory is soon another value's.
    found = callback(*(array.copy() for array in arrays))
    for part, kind, result in zip(memory[count:], callback.results, found, strict=False):
        _array(part, kind)[...] = result


def _array(memory: memoryview, kind: ArrayType) -> np.ndarray[Any, Any]:
    return np.frombuffer(memory, kind.dtype).reshape(kind.shape)


def _listed(types: Sequence[ArrayType]) -> str:
    return "(" + ", ".join(f"{t.dtype}{list(t.shape)}" for t in types) + ")"


_runtime.set_python_callbacks(run)
