"""Slices, pads, concatenations, reversals, gathers, dynamic slices: alone and in fused chains."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from core_programs import Program, Value, sample

import hlo
import hlo.numpy as hnp
from hlo import lax

KINDS = ["f32", "i8", "i1", "bf16", "complex<f32>", "ui4"]


def ints(values: object) -> str:
    items = list(values)  # type: ignore[call-overload]
    return f"array<i64{': ' if items else ''}{', '.join(map(str, items))}>"


def sliced(p: Program, x: Value, start: list[int], limit: list[int], step: list[int]) -> Value:
    shape = [-(-(b - a) // s) for a, b, s in zip(start, limit, step, strict=True)]
    return p.op(
        "slice", [x], shape,
        attributes=f"start_indices = {ints(start)}, limit_indices = {ints(limit)}, "
        f"strides = {ints(step)}",
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_elements_a_few_apart(kind: str, step: int) -> None:
    """Whole and cut vectors, up to the last element of the tensor."""
    p = Program()
    for size in (16 * step + 1, 40 * step - step + 1, 7):
        x = p.sample((3, size), kind)
        p.result(sliced(p, x, [0, 0], [3, size], [1, step]))
        p.result(sliced(p, x, [1, 1], [3, size], [1, step]))
    p.check()


@pytest.mark.parametrize("kind", KINDS)
def test_slices(kind: str) -> None:
    p = Program()
    x = p.sample((7, 40), kind)
    for step in (1, 2, 3, 17):
        for start, limit in [(0, 40), (1, 40), (3, 36), (39, 40), (5, 5)]:
            s = sliced(p, x, [1, start], [6, limit], [2, step])
            p.result(s, p.op("add", [s, s], s.shape))
    p.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5,), (33,), (3, 17), (2, 1, 20), (2, 70)])
def test_pads(kind: str, shape: tuple[int, ...]) -> None:
    """Low, high and interior padding of either sign, in the last dimension and in the first."""
    p = Program()
    x, filler = p.sample(shape, kind), p.sample((), kind)
    rank = len(shape)
    for low, high, gap in itertools.product((-2, 0, 3), (-1, 0, 19), (0, 1, 2, 3, 4)):
        for d in {0, rank - 1}:
            lows, highs, gaps = [0] * rank, [0] * rank, [0] * rank
            lows[d], highs[d], gaps[d] = low, high, gap
            size = low + high + shape[d] + max(shape[d] - 1, 0) * gap
            if size < 0:
                continue
            to = [size if k == d else n for k, n in enumerate(shape)]
            p.result(
                p.op(
                    "pad", [p.op("add", [x, x], shape), filler], to,
                    attributes=f"edge_padding_low = {ints(lows)}, "
                    f"edge_padding_high = {ints(highs)}, interior_padding = {ints(gaps)}",
                )
            )  # fmt: skip
    p.check()


@pytest.mark.parametrize("kind", KINDS)
def test_concatenations(kind: str) -> None:
    p = Program()
    for d, lengths in [(1, [1, 16, 3]), (1, [17, 0, 33]), (0, [2, 1, 4]), (1, [5]), (0, [1, 1])]:
        parts = [p.sample((n, 7) if d == 0 else (4, n), kind) for n in lengths]
        total = sum(lengths)
        shape = (total, 7) if d == 0 else (4, total)
        moved = [p.op("add", [x, x], x.shape) for x in parts]
        joined = p.op("concatenate", moved, shape, attributes=f"dimension = {d} : i64")
        p.result(joined, p.op("multiply", [joined, joined], shape))
    p.check()


@pytest.mark.parametrize("axis", [0, 1])
def test_a_concatenation_of_hundreds(axis: int) -> None:
    p = Program()
    lengths = [1 + i % 4 for i in range(220)]
    parts = [p.sample((n, 2) if axis == 0 else (2, n), "f32") for n in lengths]
    shape = (sum(lengths), 2) if axis == 0 else (2, sum(lengths))
    joined = p.op("concatenate", parts, shape, attributes=f"dimension = {axis} : i64")
    p.result(p.op("add", [joined, joined], shape))
    p.check()


@pytest.mark.parametrize("kind", KINDS)
def test_reversals(kind: str) -> None:
    p = Program()
    x = p.sample((3, 5, 19), kind)
    for count in range(4):
        for dims in itertools.combinations(range(3), count):
            p.result(
                p.op(
                    "add",
                    [p.op("reverse", [x], x.shape, attributes=f"dimensions = {ints(dims)}"), x],
                    x.shape,
                )
            )
    p.check()


@pytest.mark.parametrize("index", ["i8", "ui8", "i32", "i64", "ui64"])
@pytest.mark.parametrize("kind", ["f32", "i8", "complex<f32>"])
def test_dynamic_slices(kind: str, index: str) -> None:
    """Starts are clamped, below and above."""
    p = Program()
    x = p.sample((6, 20), kind)
    for row, column in [(0, 0), (5, 3), (100, 100), (3, 19), (-1, -100), (1, 2)]:
        if index.startswith("u") and min(row, column) < 0:
            continue
        starts = [p.argument(np.asarray(v, sample((), index).dtype)) for v in (row, column)]
        for size in [(1, 1), (2, 17), (6, 20), (3, 4)]:
            s = p.op("dynamic_slice", [x, *starts], size, attributes=f"slice_sizes = {ints(size)}")
            p.result(p.op("add", [s, s], size))
    p.check()


def gather(
    p: Program, x: Value, indices: Value, shape: list[int], sizes: list[int], numbers: str
) -> Value:
    return p.op(
        "gather", [x, indices], shape,
        attributes=f"dimension_numbers = #hlo.gather<{numbers}>, slice_sizes = {ints(sizes)}, "
        "indices_are_sorted = false",
    )  # fmt: skip


@pytest.mark.parametrize("index", ["i8", "i32", "ui32", "i64"])
@pytest.mark.parametrize("kind", ["f32", "i8", "bf16", "complex<f64>"])
def test_gathers(kind: str, index: str) -> None:
    p = Program()
    x = p.sample((9, 20), kind)
    rows = p.argument(np.asarray([0, 8, 3, 100, 7, 5, 2], sample((), index).dtype))
    pairs = p.argument(np.asarray([[0, 0], [8, 19], [3, 4], [100, 3]], sample((), index).dtype))
    taken = gather(
        p, x, rows, [7, 20], [1, 20],
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
        "index_vector_dim = 1",
    )  # fmt: skip
    columns = gather(
        p, x, rows, [9, 7], [9, 1],
        "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], "
        "index_vector_dim = 1",
    )  # fmt: skip
    points = gather(
        p, x, pairs, [4], [1, 1],
        "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1",
    )  # fmt: skip
    windows = gather(
        p, x, pairs, [4, 3, 17], [3, 17],
        "offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1",
    )  # fmt: skip
    for value in (taken, columns, points, windows):
        p.result(value, p.op("add", [value, value], value.shape))
    p.check()


def test_batched_gather() -> None:
    p = Program()
    x = p.sample((4, 9, 5), "f32")
    rows = p.argument(np.random.default_rng(0).integers(-2, 12, (4, 3)).astype(np.int32))
    p.result(
        gather(
            p, x, rows, [4, 3, 5], [1, 1, 5],
            "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
            "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
        )
    )  # fmt: skip
    p.check()


@pytest.mark.parametrize("kind", ["f32", "i8"])
def test_reshapes_inside_chains(kind: str) -> None:
    p = Program()
    x = p.sample((6, 10), kind)
    for shape in [(60,), (10, 6), (3, 20), (2, 3, 5, 2), (1, 60), (60, 1, 1)]:
        r = p.op("reshape", [p.op("add", [x, x], x.shape)], shape)
        order = ", ".join(map(str, reversed(range(len(shape)))))
        t = p.op("transpose", [r], shape[::-1], attributes=f"permutation = array<i64: {order}>")
        back = p.op("reshape", [t], (6, 10))
        p.result(p.op("multiply", [back, x], (6, 10)), r)
    p.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [6, 32, 151])
def test_interleaved_twice(kind: str, size: int) -> None:
    """Elements that alternate with others, and what is made of them again, as a scan by halves."""
    p = Program()
    x, y, filler = p.sample((size,), kind), p.sample((size,), kind), p.sample((), kind)
    for _ in range(2):
        parts: list[Value] = []
        for source, low in ((x, 0), (y, 1)):
            parts.append(
                p.op(
                    "pad", [p.op("add", [source, source], (size,)), filler], (2 * size,),
                    attributes=f"edge_padding_low = array<i64: {low}>, "
                    f"edge_padding_high = array<i64: {1 - low}>, "
                    "interior_padding = array<i64: 1>",
                )
            )  # fmt: skip
        size *= 2
        x = p.op("add", parts, (size,))
        y = p.op("add", [x, x], (size,))
    p.result(x, y)
    p.check()


@pytest.mark.parametrize("kind", ["f32", "i16"])
def test_movement_of_movement(kind: str) -> None:
    """A slice of a reverse of a pad of a transpose of a concatenation: one kernel of indices."""
    p = Program()
    x, y, filler = p.sample((5, 9), kind), p.sample((3, 9), kind), p.sample((), kind)
    joined = p.op("concatenate", [x, y], (8, 9), attributes="dimension = 0 : i64")
    moved = p.op("transpose", [joined], (9, 8), attributes="permutation = array<i64: 1, 0>")
    padded = p.op(
        "pad", [moved, filler], (20, 11),
        attributes="edge_padding_low = array<i64: 2, -1>, edge_padding_high = array<i64: 1, 4>, "
        "interior_padding = array<i64: 1, 0>",
    )  # fmt: skip
    turned = p.op("reverse", [padded], (20, 11), attributes="dimensions = array<i64: 0, 1>")
    part = sliced(p, turned, [1, 0], [20, 11], [3, 2])
    p.result(p.op("add", [part, part], part.shape))
    p.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 37, 300])
def test_columns_against_each_other(kind: str, rows: int) -> None:
    p = Program()
    x = p.sample((rows, 3), kind)
    wide: list[Value] = []
    for column, dim in ((0, 0), (1, 1), (2, 1)):
        part = sliced(p, x, [0, column], [rows, column + 1], [1, 1])
        line = p.op("reshape", [part], (rows,))
        wide.append(
            p.op(
                "broadcast_in_dim", [line], (rows, rows),
                attributes=f"broadcast_dimensions = array<i64: {dim}>",
            )
        )  # fmt: skip
    first = p.op("add", wide[:2], (rows, rows))
    p.result(p.op("multiply", [first, wide[2]], (rows, rows)))
    p.check()


SPREADS = [
    ((4, 3, 7, 9), (0, 2, 3), (4, 7, 9)),
    ((4, 3, 7, 9), (1, 2), (3, 7)),
    ((2, 5, 1, 6, 8), (0, 2, 3, 4), (2, 1, 6, 8)),
    ((2, 5, 4, 6, 8), (0, 2, 3, 4), (2, 4, 1, 8)),
    ((6, 5, 4, 3), (0, 3), (6, 3)),
    ((3, 16, 2, 16), (1, 2, 3), (16, 1, 16)),
    ((5, 1, 7, 4), (0, 1, 3), (5, 1, 4)),
]


@pytest.mark.parametrize("kind", ["f32", "i1"])
@pytest.mark.parametrize(("shape", "dims", "operand"), SPREADS)
def test_values_spread_over_middle_dimensions(
    kind: str, shape: tuple[int, ...], dims: tuple[int, ...], operand: tuple[int, ...]
) -> None:
    """Neighbours that stay neighbours are one range, read by a kernel over a reshape's elements."""
    p = Program()
    x = p.sample(operand, kind)
    wide = p.op("broadcast_in_dim", [x], shape, attributes=f"broadcast_dimensions = {ints(dims)}")
    size = int(np.prod(shape))
    flat = p.op("reshape", [wide], (size,))
    p.result(p.op("xor" if kind == "i1" else "add", [flat, p.sample((size,), kind)], (size,)))
    p.check()


@pytest.mark.parametrize("kind", ["f16", "bf16", "complex<f32>"])
def test_moved_bits_stay(kind: str) -> None:
    """Every pattern of 16 bits, those of NaNs that signal too, alone and as a complex number's."""
    dtype = sample((), kind).dtype
    words = np.arange(1 << 16, dtype=np.uint16)
    if dtype.itemsize == 8:
        words = np.repeat(words.astype(np.uint32) << 16 | 1, 2)
    x = words.view(dtype).reshape(256, 256)
    text = (
        "func.func @main(%x: {0}) -> ({0}, {0}) {{\n"
        "  %0 = hlo.transpose %x, dims = [1, 0] : ({0}) -> {0}\n"
        "  %1 = hlo.reverse %x, dims = [0, 1] : {0}\n"
        "  return %0, %1 : {0}, {0}\n}}"
    ).format(f"tensor<256x256x{kind}>")
    turned, reversed_ = hlo.compile(text)(x)
    assert turned.tobytes() == np.ascontiguousarray(x.T).tobytes()
    assert reversed_.tobytes() == x[::-1, ::-1].tobytes()


@pytest.mark.parametrize(
    ("kind", "filler"),
    [
        *((kind, x) for kind in ("f16", "bf16") for x in ("-0.0", "1.5", "0xFE01", "0xFF80")),
        ("complex<f32>", "(1.5, -2.0)"),
        ("complex<f32>", "(0.0, -0.0)"),
    ],
)
def test_constants_among_what_is_moved(kind: str, filler: str) -> None:
    """Their bits, signs of zeros, infinities and NaNs too."""
    x = sample((6, 20), kind)
    text = (
        f"func.func @main(%x: tensor<6x20x{kind}>) -> tensor<9x50x{kind}> {{\n"
        f"  %c = hlo.constant dense<{filler}> : tensor<{kind}>\n"
        "  %0 = hlo.pad %x, %c, low = [1, 2], high = [2, 28], interior = [0, 0] : "
        f"(tensor<6x20x{kind}>, tensor<{kind}>) -> tensor<9x50x{kind}>\n"
        f"  return %0 : tensor<9x50x{kind}>\n}}"
    )
    (found,) = hlo.compile(text)(x)
    if filler.startswith("0x"):
        element = np.array(int(filler, 16), np.uint16).view(x.dtype)
    else:
        parts = [float(part) for part in filler.strip("()").split(",")]
        element = np.array(complex(*parts) if len(parts) > 1 else parts[0]).astype(x.dtype)
    expected = np.full((9, 50), element)
    expected[1:7, 2:22] = x
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["f16", "bf16", "complex<f32>"])
def test_kernels_of_words_within_a_loop(kind: str) -> None:
    """Inlined in the host program's function, whose buffers are of the elements' own type."""
    x, weights = sample((8, 8), kind), sample((8, 8), "f32", 1)
    steps = 5

    def function(x: Any, weights: Any) -> Any:
        def body(_: Any, carry: Any) -> Any:
            sums, moved, total = carry
            moved = hnp.roll(hnp.swapaxes(moved, 0, 1), 1, 0)
            return hnp.sin(sums @ weights) + 1.0, moved, total + hnp.sum(sums)

        zeros = hnp.zeros((16, 8), np.float32)
        return lax.fori_loop(0, steps, body, (zeros, x, hnp.float32(0)))[1]

    expected = x
    for _ in range(steps):
        expected = np.roll(expected.T, 1, 0)
    assert np.asarray(hlo.jit(function)(x, weights)).tobytes() == expected.tobytes()
