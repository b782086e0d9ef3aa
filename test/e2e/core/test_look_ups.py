"""Positions that differ from lane to lane: gathers of elements, short folds of strided loads."""

from __future__ import annotations

import ctypes
import mmap
import re
from typing import Any

import numpy as np
import pytest
from core_programs import INTEGERS, Program, sample
from test_data_movement import gather
from test_reductions import reduce

import hlo
import hlo.numpy as hnp
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features

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


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "i32", "i64", "ui32", "i16", "ui8"])
def test_searches_are_one_kernel(kind: str, side: str) -> None:
    """Each look-up waits for the one before: chains of four registers run beside each other."""
    rng = np.random.default_rng(3)
    dtype = sample((), kind).dtype
    search = hlo.jit(lambda a, x: hnp.searchsorted(a, x, side=side))
    for size, count in ((1, 37), (2, 5003), (65, 5003), (1000, 2048)):
        if dtype.kind == "f":
            table = np.sort(rng.standard_normal(size).astype(dtype))
            sought = rng.standard_normal(count).astype(dtype)
            sought[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-5]
        else:
            table = np.sort(rng.integers(0, 100, size).astype(dtype))
            sought = rng.integers(0, 120, count).astype(dtype)
        sought[7::7] = rng.choice(table, sought[7::7].size)
        found = np.asarray(search(table, sought))
        np.testing.assert_array_equal(found, np.searchsorted(table, sought, side=side))
    compiled = search.lower(table, sought).compile()
    assert compiled.explain().as_text().count("[loop]") == 1
    if "avx512f" in host_features():
        lanes = max(map(int, re.findall(r"vector<(\d+)x", compiled.as_text("llvm"))))
        registers = 4 if dtype.itemsize >= 4 else 1  # parts of words fill one
        assert lanes == registers * 64 // max(dtype.itemsize, 4)


@pytest.mark.parametrize(
    "table",
    [
        lambda x: hnp.concatenate([x, x + 1]),
        lambda x: x * 2,
        lambda x: x[3:35],
        lambda x: x[::-1],
        lambda x: hnp.pad(x, 2),
        lambda x: x.reshape(5, 8)[:, None, :],
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_tables_that_are_computed_are_looked_up_by_lanes(table: Any, dtype: Any) -> None:
    x = np.arange(40).astype(dtype)
    rng = np.random.default_rng(5)
    made = np.asarray(hlo.jit(table)(x))
    index = [rng.integers(0, size, 300).astype(np.int32) for size in made.shape]
    look_up = hlo.jit(lambda x, *i: table(x)[i])
    np.testing.assert_array_equal(np.asarray(look_up(x, *index)), made[tuple(index)])
    text = look_up.lower(x, *index).compile().as_text("llvm")
    assert "masked.gather" in text


def test_few_look_ups_compute_what_they_read() -> None:
    x, i = np.arange(64, dtype=np.float32), np.asarray([5, 60, 63], np.int32)
    look_up = hlo.jit(lambda x, i: (x * 2)[i])
    np.testing.assert_array_equal(np.asarray(look_up(x, i)), 2 * x[i])
    assert look_up.lower(x, i).compile().explain().as_text().count(" [") == 1
