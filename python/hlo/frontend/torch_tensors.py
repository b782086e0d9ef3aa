"""PyTorch's tensors among the arguments of traced functions, and results as tensors.

PyTorch is not imported for it: a tensor is one only if somebody else has.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from hlo.frontend.dtypes import bit_width, canonical_dtype, dtype_name
from hlo.frontend.errors import DtypeError

_NUMBERS = frozenset({bool, int, float, complex})


def is_tensor(value: object) -> bool:
    """Whether a value is a `torch.Tensor`."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def are_of_torch(values: Iterable[object]) -> bool:
    """Whether there are tensors among some values and nothing else but Python's numbers."""
    kinds = {type(value) for value in values} - _NUMBERS
    torch = sys.modules.get("torch")
    return torch is not None and bool(kinds) and all(issubclass(k, torch.Tensor) for k in kinds)


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of a `torch.dtype`.

    Raises:
        DtypeError: there is none (complex32, quantised types).
    """
    return canonical_dtype(str(dtype).removeprefix("torch."))


def _has_no_numpy(name: str) -> bool:
    """Whether PyTorch and NumPy pass arrays of this dtype as integers only."""
    return name == "bfloat16" or name.startswith("float8")


@functools.cache
def _torch() -> Any:
    return import_module("torch")


@functools.cache
def _passage(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], Any]:
    """The dtype as which PyTorch takes arrays of a dtype, and the `torch.dtype` that those get.

    Raises:
        DtypeError: PyTorch has no tensors of it; of ints of less than a byte it has but the names.
    """
    torch, name = _torch(), dtype_name(dtype)
    if not hasattr(torch, name) or (name != "bool" and bit_width(dtype) < 8):
        raise DtypeError(
            f"PyTorch has no tensors of {name}: convert the result, or pass NumPy arrays"
        )
    kind = getattr(torch, name)
    if _has_no_numpy(name):
        return np.dtype(np.int16 if dtype.itemsize == 2 else np.uint8), kind
    return dtype, kind


def to_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """A CPU tensor's memory as an array; nothing is copied where it is in row-major order."""
    torch = _torch()
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    dtype = dtype_of(dense.dtype)
    if _has_no_numpy(dtype_name(dtype)):
        bits = torch.int16 if dtype.itemsize == 2 else torch.uint8
        return dense.view(bits).numpy().view(dtype)
    return dense.numpy()


def from_numpy(array: np.ndarray[Any, Any]) -> Any:
    """An array's memory as a tensor; nothing is copied.

    Raises:
        DtypeError: PyTorch has no such dtype.
    """
    passed, kind = _passage(array.dtype)
    if passed is array.dtype:
        return _torch().from_numpy(array)
    return _torch().from_numpy(array.view(passed)).view(kind)


def as_tensors(arrays: Iterable[np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Arrays' memory as tensors; nothing is copied."""
    return tuple(map(from_numpy, arrays))
