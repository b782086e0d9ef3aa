"""Lanes that lie a few elements apart, or in reverse."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo
from hlo import numpy as hnp

DTYPES = [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_, np.complex64]
DTYPES += [np.float16, ml_dtypes.bfloat16]


def _sample(dtype: Any, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    return (rng.integers(-100, 100, shape) % (2 if dtype is np.bool_ else 100)).astype(dtype)


# Whole vectors, a rest of several lanes, a rest of one, less than a vector.
@pytest.mark.parametrize("n", [64, 71, 33, 7])
@pytest.mark.parametrize("step", [-1, 2, 3, 4, 5, -2])
def test_slices(n: int, step: int) -> None:
    arrays = [_sample(dtype, 3, n * abs(step)) for dtype in DTYPES]
    found = hlo.jit(lambda *xs: [hnp.where(True, x[:, ::step], x[:, ::step]) for x in xs])(*arrays)
    for x, y in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(y, x[:, ::step])


def _at_the_end_of_a_page(count: int) -> tuple[mmap.mmap, np.ndarray]:
    """`count` numbers behind which no memory may be read, and what keeps them."""
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(start + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    x = np.frombuffer(memory, np.float32, count, mmap.PAGESIZE - 4 * count)
    x[:] = np.arange(count)
    return memory, x


@pytest.mark.parametrize("n", [16, 17, 40])
@pytest.mark.parametrize("step", [2, 3, 4, -1])
def test_nothing_is_read_behind_the_last_element(n: int, step: int) -> None:
    memory, x = _at_the_end_of_a_page((n - 1) * abs(step) + 1)
    found = hlo.jit(lambda x: x[::step] + 1)(x)
    np.testing.assert_array_equal(found, x[::step] + 1)
    del memory


def test_reversed_beside_zeros_and_in_sums() -> None:
    x = _sample(np.float32, 5, 37)
    padded, summed, rows = hlo.jit(
        lambda x: (hnp.pad(x[:, ::-1], ((1, 1), (3, 6))), (x[:, ::-1] * x).sum(1), x[::-1] - x)
    )(x)
    np.testing.assert_array_equal(padded, np.pad(x[:, ::-1], ((1, 1), (3, 6))))
    np.testing.assert_allclose(summed, (x[:, ::-1] * x).sum(1), rtol=1e-5)
    np.testing.assert_array_equal(rows, x[::-1] - x)


def test_channels_first_and_last() -> None:
    image = _sample(np.uint8, 2, 19, 23, 3)
    scale = np.array([0.5, 2, 4], np.float32)
    first, last = hlo.jit(
        lambda x, s: ((x.astype(np.float32) * s).transpose(0, 3, 1, 2), x.astype(np.float32) * s)
    )(image, scale)
    np.testing.assert_array_equal(last, image * scale)
    np.testing.assert_array_equal(first, (image * scale).transpose(0, 3, 1, 2))


def test_no_gathers() -> None:
    text = (
        hlo.jit(lambda x: (x[::-1] + 1, x[::2] + 1)).lower(np.ones(64, np.float32)).as_text("host")
    )
    assert "vector.load" in text
    assert "vector.gather" not in text


def test_a_column_beside_folds_is_gathered() -> None:
    """A log-sum-exp of columns, and a column of a table: one kernel of vectors."""
    scores, table = _sample(np.float32, 20, 21), _sample(np.float32, 21, 9)

    @hlo.jit
    def f(s: Any, t: Any, i: Any) -> Any:
        peak = s.max(0)
        return hnp.log(hnp.exp(s - peak).sum(0)) + peak + t[:, i]

    shifted = scores.astype(np.float64) - scores.max(0)
    expected = np.log(np.exp(shifted).sum(0)) + scores.max(0) + table[:, 4]
    np.testing.assert_allclose(f(scores, table, np.int32(4)), expected, rtol=1e-6)
    text = f.lower(scores, table, np.int32(4)).as_text("host")
    assert "vector.gather" in text and "memref.load %in0" not in text
