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

from hlo.frontend.dtypes import canonical_dtype, dtype_name

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
    """An array's memory as a tensor; nothing is copied."""
    torch = _torch()
    name = dtype_name(array.dtype)
    if _has_no_numpy(name):
        bits = array.view(np.int16 if array.dtype.itemsize == 2 else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, name))
    return torch.from_numpy(array)


def as_tensors(arrays: Iterable[np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Arrays' memory as tensors; nothing is copied."""
    return tuple(map(from_numpy, arrays))
