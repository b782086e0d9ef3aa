"""Vendor matrix multiplication: every transposition, type, leading dimension, batch and split."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from native_programs import runtime_function

from hlo.executable import runtime

SUFFIX = {"f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}
TOLERANCE = {"f4": 2e-5, "f8": 1e-13, "c8": 2e-5, "c16": 1e-13}


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def random(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=shape)
    return (value + 1j * rng.normal(size=shape) if "c" in dtype else value).astype(dtype)


def gemm(dtype: str, threads: int, batched: bool, *arguments: int) -> int:
    name = f"hlo_rt_gemm_{'batched_' if batched else ''}{SUFFIX[dtype]}"
    state = runtime.CallState(threads)
    p, i, n = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
    types = [p, n, n, i, i, i, p, p, i, *([i] if batched else []), p, i]
    types += [*([i] if batched else []), p, p, i, *([i, i] if batched else [])]
    code = runtime_function(name, n, *types)(state.address, *arguments)
    assert code in (0, 1)
    if code:
        raise RuntimeError(state.error)
    return 0


def apply(matrix: np.ndarray, code: int) -> np.ndarray:
    swapped = matrix.swapaxes(-1, -2)
    return (matrix, swapped, swapped.conj())[code]


@pytest.mark.parametrize("dtype", list(SUFFIX))
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(3, 4, 5), (1, 7, 4), (7, 1, 4), (1, 1, 9), (200, 130, 90), (33, 300, 1)]
)
def test_one_matrix(dtype: str, threads: int, m: int, n: int, k: int) -> None:
    scalars = np.array([1.25, -0.5]).astype(dtype)
    if "c" in dtype:
        scalars += np.array([0.5j, 0.25j]).astype(dtype)
    for trans_a in range(3):
        for trans_b in range(3):
            a = random((m, k) if trans_a == 0 else (k, m), dtype, 1)
            b = random((k, n) if trans_b == 0 else (n, k), dtype, 2)
            wide = random((m, n + 3), dtype, 3)
            before = wide.copy()
            gemm(
                dtype, threads, False, trans_a, trans_b, m, n, k,
                address(scalars), address(a), a.shape[1], address(b), b.shape[1],
                address(scalars) + scalars.itemsize, address(wide), n + 3,
            )  # fmt: skip
            expected = scalars[0] * (apply(a, trans_a) @ apply(b, trans_b))
            expected += scalars[1] * before[:, :n]
            tolerance = TOLERANCE[dtype] * max(k, 1)
            np.testing.assert_allclose(wide[:, :n], expected, rtol=tolerance, atol=tolerance)
            np.testing.assert_array_equal(wide[:, n:], before[:, n:])


@pytest.mark.parametrize("dtype", ["f4", "c16"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("batch", [1, 2, 9])
def test_batches(dtype: str, shared: bool, batch: int) -> None:
    m, n, k = 20, 17, 40
    scalars = np.array([1, 0]).astype(dtype)
    a = random((batch, m, k), dtype, 1)
    b = random((1 if shared else batch, k, n), dtype, 2)
    c = np.full((batch, m, n), np.nan, dtype)
    gemm(
        dtype, 2, True, 0, 0, m, n, k, address(scalars), address(a), k, m * k, address(b), n,
        0 if shared else k * n, address(scalars) + scalars.itemsize, address(c), n, m * n, batch,
    )  # fmt: skip
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shape", [(0, 3, 2), (3, 0, 2), (3, 4, 0), (1, 5, 0), (5, 1, 3), (1, 6, 3)]
)
def test_empty_sizes_and_nan_in_the_result_memory(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    scalars = np.array([1, 0], "f4")
    a, b = random((m, k), "f4", 1), random((k, n), "f4", 2)
    c = np.full((m, n), np.nan, "f4")
    gemm(
        "f4", 2, False, 0, 0, m, n, k, address(scalars), address(a), k, address(b), n,
        address(scalars) + 4, address(c), n,
    )  # fmt: skip
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-6)


def test_bad_sizes_are_an_error() -> None:
    x = np.zeros(100, "f4")
    with pytest.raises(RuntimeError, match="leading dimensions"):
        gemm(
            "f4", 1, False, 0, 0, 5, 5, 5, *[address(x)] * 2, 4, address(x), 5, *[address(x)] * 2, 5
        )
    with pytest.raises(RuntimeError, match="out of range"):
        gemm(
            "f4", 1, False, 0, 0, 2**31, 5, 5, *[address(x)] * 2, 5, address(x), 5,
            *[address(x)] * 2, 5,
        )  # fmt: skip


def test_a_missing_library_is_reported() -> None:
    script = """
import ctypes
from hlo_native import _runtime as rt
rt.set_blas_path("/nowhere/libblas.so")
assert not rt.blas_available()
state = rt.CallState(1)
p, i, n = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
f = ctypes.CFUNCTYPE(n, p, n, n, i, i, i, p, p, i, p, i, p, p, i)(rt.symbols()["hlo_rt_gemm_f32"])
x = (ctypes.c_float * 4)()
a = ctypes.addressof(x)
print(f(state.address, 0, 0, 1, 1, 1, a, a, 1, a, 1, a, a, 1), state.error, rt.blas_error())
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("2 ")
    assert result.stdout.count("/nowhere/libblas.so") == 2


def test_the_library_is_there() -> None:
    assert runtime.blas_available(), runtime.blas_error()
