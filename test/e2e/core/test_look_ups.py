"""Positions that differ from lane to lane: gathers of elements, short folds of strided loads."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from core_programs import INTEGERS, Program, sample
from test_data_movement import gather
from test_reductions import reduce

import hlo

POINT = "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"


def positions(count: int, kind: str, limit: int) -> np.ndarray[Any, Any]:
    """Positions in and out of range, on either side where the type has a sign."""
    dtype = sample((), kind).dtype
    low, high = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    rng = np.random.default_rng(7)
    found = rng.integers(max(low, -5), min(high, limit + 5), count).astype(dtype)
    found[0], found[-1] = low, high
    return found


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("kind", ["f32", "i64", "i8", "ui16", "f16", "bf16", "complex<f32>"])
def test_elements(kind: str, index: str) -> None:
    """Whole vectors, and ends under a mask; alone and in a chain."""
    p = Program()
    for size, count in ((40, 64), (300, 37), (1, 20), (3, 48), (4, 33), (7, 16)):
        x, i = p.sample((size,), kind), p.argument(positions(count, index, size))
        y = gather(p, x, i, [count], [1], POINT)
        p.result(y, p.op("add", [y, y], [count]))
    p.check()


def test_bytes_at_any_address_and_none_behind_them() -> None:
    """Bytes that end where a page ends, behind which nothing may be read."""
    page = mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, 2 * page), np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(memory.ctypes.data + page), page, 0) == 0
    text = (
        "func.func @main(%x: tensor<7xui8>, %i: tensor<64x1xi32>) -> tensor<64xui8> {\n"
        f'  %0 = "hlo.gather"(%x, %i) <{{dimension_numbers = #hlo.gather<{POINT}>, '
        "slice_sizes = array<i64: 1>}> : "
        "(tensor<7xui8>, tensor<64x1xi32>) -> tensor<64xui8>\n"
        "  return %0 : tensor<64xui8>\n}"
    )
    table = memory[page - 7 : page]
    table[:] = np.arange(40, 47)
    where = np.arange(64, dtype=np.int32)[:, None] % 7
    [found] = hlo.compile(text)(table, where)
    np.testing.assert_array_equal(found, 40 + where[:, 0])


@pytest.mark.parametrize("kind", ["f32", "i32", "f64", "ui8", "bf16"])
def test_points_of_a_matrix(kind: str) -> None:
    p = Program()
    x = p.sample((30, 50), kind)
    rows, columns = positions(100, "i32", 30), positions(100, "i32", 50)
    pairs = p.argument(np.stack([rows, columns], -1))
    p.result(
        gather(
            p, x, pairs, [100], [1, 1],
            "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1",
        )
    )  # fmt: skip
    # One position for each row: `take_along_axis`, the row walked with the lanes or above them.
    for count in (30, 3):
        picked = p.argument(positions(count, "i64", 50))
        part = p.sample((count, 50), kind)
        p.result(
            gather(
                p, part, picked, [count], [1, 1],
                "collapsed_slice_dims = [1], operand_batching_dims = [0], "
                "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1",
            )
        )  # fmt: skip
    p.check()


def test_what_is_looked_up_is_not_overwritten() -> None:
    """A result may not take the memory of a table that later lanes read, also a donated one."""
    count = 1000
    text = f"""
    func.func @main(%x: tensor<{count}xf32> {{jax.buffer_donor = true}}, %i: tensor<{count}x1xi32>)
        -> tensor<{count}xf32> {{
      %0 = "hlo.gather"(%x, %i) <{{dimension_numbers = #hlo.gather<{POINT}>,
          slice_sizes = array<i64: 1>}}>
        : (tensor<{count}xf32>, tensor<{count}x1xi32>) -> tensor<{count}xf32>
      %1 = hlo.add %0, %x : tensor<{count}xf32>
      return %1 : tensor<{count}xf32>
    }}
    """
    x = np.arange(count, dtype=np.float32)
    backwards = np.arange(count, dtype=np.int32)[::-1, None].copy()
    (found,) = hlo.compile(text)(x.copy(), backwards)
    np.testing.assert_array_equal(found, x[::-1] + x)


@pytest.mark.parametrize("kind", ["f32", "bf16", "i8", "complex<f32>"])
@pytest.mark.parametrize("depth", [1, 2, 3, 7, 8, 9])
def test_short_rows(kind: str, depth: int) -> None:
    """Distances of points in few dimensions: a lane folds its own row."""
    p = Program()
    for n, m in ((5, 40), (3, 16), (2, 19)):
        x, y = p.sample((n, depth), kind), p.sample((m, depth), kind)
        shape = [n, m, depth]
        a = p.op(
            "broadcast_in_dim", [x], shape, attributes="broadcast_dimensions = array<i64: 0, 2>"
        )
        b = p.op(
            "broadcast_in_dim", [y], shape, attributes="broadcast_dimensions = array<i64: 1, 2>"
        )
        d = p.op("subtract", [a, b], shape)
        p.result(reduce(p, p.op("multiply", [d, d], shape), (2,)))
        if not kind.startswith("complex"):
            p.result(reduce(p, d, (2,), "maximum"))
    p.check(ulps=2)


@pytest.mark.parametrize(("width", "kind"), [(16, "f32"), (100, "f32"), (700, "bf16"), (64, "i8")])
def test_rows_of_a_table_in_memory(width: int, kind: str) -> None:
    """8 MiB: rows are fetched ahead, up to the last index; indices may be computed."""
    p = Program()
    table = sample((1, width), kind)
    rows = -(-(8 << 20) // (width * table.dtype.itemsize))
    x = p.argument(
        np.resize(table, (rows, width)) * (np.arange(rows) % 3).astype(table.dtype)[:, None]
    )
    i = p.argument(positions(57, "i32", rows).reshape(19, 3))
    attributes = (
        "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2"
    )
    shape = (19, 3, width)
    p.result(gather(p, x, i, shape, [1, width], attributes))
    p.result(gather(p, x, p.op("negate", [i], i.shape), shape, [1, width], attributes))
    p.check()
