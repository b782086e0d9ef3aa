"""Tensors of a type."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlo.frontend.dtypes import FLOAT32, is_float
from hlo.frontend.operands import convert, to_tracer
from hlo.frontend.tracer import Tracer

INT64: Final = np.dtype(np.int64)


def tensor(value: Any, dtype: np.dtype[Any]) -> Tracer:
    """A tensor or number as a tensor of a type."""
    if isinstance(value, Tracer):
        return convert(value, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return to_tracer(np.asarray(value).astype(dtype))


def widened(x: Tracer) -> Tracer:
    """16-bit floats as float32, for what is computed in several steps and rounded once."""
    return convert(x, FLOAT32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x
