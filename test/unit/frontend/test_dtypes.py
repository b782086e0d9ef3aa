"""The lattice of element types, against JAX's with 64-bit types on."""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo.frontend.dtypes import canonical_dtype, highest, lowest, promote_types

NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize(("first", "second"), list(product(NAMES, NAMES)))
def test_two_arrays(first: str, second: str) -> None:
    with jax.enable_x64(True):
        expected = jnp.promote_types(canonical_dtype(first), canonical_dtype(second))
    assert promote_types((canonical_dtype(first), canonical_dtype(second))) == expected


@pytest.mark.parametrize(("name", "scalar"), list(product(NAMES, (int, float, complex))))
def test_array_and_python_number(name: str, scalar: type) -> None:
    with jax.enable_x64(True):
        expected = (jnp.zeros((), canonical_dtype(name)) + scalar(1)).dtype
    if np.dtype(expected).itemsize >= 8 and name in NAMES[:9] and scalar is not int:
        # JAX's default float grows to 64 bits with that flag; ours is float32 always.
        expected = np.dtype(np.float32 if scalar is float else np.complex64)
    if name == "bool" and scalar is int:
        expected = np.dtype(np.int32)
    assert promote_types((canonical_dtype(name), scalar)) == expected


def test_python_numbers_alone() -> None:
    assert promote_types((int,)) == np.int32
    assert promote_types((int, float)) == np.float32
    assert promote_types((bool, complex)) == np.complex64


def test_narrow_types_meet_only_themselves() -> None:
    int4, fp8 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.float8_e4m3fn)
    assert promote_types((int4, int)) == int4
    assert promote_types((fp8, float, int)) == fp8
    with pytest.raises(hlo.DtypeError, match="no implicit common type of int4, float32"):
        promote_types((int4, np.dtype(np.float32)))


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[s]", "float128", "nonsense", "S1"])
def test_unsupported(dtype: Any) -> None:
    with pytest.raises(hlo.DtypeError):
        canonical_dtype(dtype)


def test_byte_order_is_ours() -> None:
    assert canonical_dtype(">f4") == np.dtype(np.float32)


def test_extremes() -> None:
    assert lowest(np.dtype(np.float32)) == -np.inf
    assert float(highest(np.dtype(ml_dtypes.float8_e4m3fn))) == 448.0
    assert (lowest(np.dtype(np.int8)), highest(np.dtype(np.uint16))) == (-128, 65535)


@pytest.mark.parametrize(
    ("value", "dtype"), [(300, np.uint8), (-1, np.uint32), (2**31, None), (-129, np.int8)]
)
def test_python_integers_out_of_range(value: int, dtype: Any) -> None:
    x = np.zeros(2, dtype or np.int32)
    with pytest.raises(hlo.DtypeError, match=rf"test_dtypes.py:\d+: {value} is out of the range"):
        hlo.jit(lambda x: x + value).lower(x)


def test_result_type() -> None:
    assert hnp.result_type(np.int8(1), 2.0, np.zeros(3, np.float16)) == np.float16
