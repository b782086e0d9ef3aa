"""Kernels in square tiles, and results that are written past the caches."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import ALL_TYPES, Program, Value
from test_data_movement import ints


def transpose(p: Program, x: Value, order: tuple[int, ...]) -> Value:
    shape = [x.shape[d] for d in order]
    return p.op("transpose", [x], shape, None, f"permutation = {ints(order)}")


@pytest.mark.parametrize(
    "shape",
    [(16, 16), (64, 64), (15, 17), (17, 15), (8, 100), (100, 8), (65, 33), (70, 530), (4, 4),
     (3, 200), (200, 3), (1, 50), (31, 16), (16, 31)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "f64", "i8", "bf16", "i1", "complex<f32>"])
def test_transposed_matrices(shape: tuple[int, int], kind: str) -> None:
    p = Program()
    x, y = p.sample(shape, kind), p.sample(shape[::-1], kind)
    p.result(transpose(p, x, (1, 0)))
    if kind != "i1":
        p.result(p.op("add", [transpose(p, x, (1, 0)), y], y.shape))
        p.result(p.op("add", [transpose(p, x, (1, 0)), transpose(p, x, (1, 0))], y.shape))
    p.check()


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_transposed_elements_of_every_type(kind: str) -> None:
    p = Program()
    p.result(transpose(p, p.sample((33, 40), kind), (1, 0)))
    p.check()


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("shape", [(3, 18, 20), (17, 5, 33), (20, 20, 20), (2, 64, 3)])
def test_transposes_of_three_dimensions(order: tuple[int, ...], shape: tuple[int, ...]) -> None:
    p = Program()
    for kind in ("f32", "i16"):
        x = p.sample(shape, kind)
        moved = transpose(p, x, order)
        p.result(p.op("negate", [moved], moved.shape))
        same = p.sample(moved.shape, kind)
        row = p.sample(moved.shape[-1:], kind)
        wide = p.op(
            "broadcast_in_dim", [row], moved.shape, None, "broadcast_dimensions = " + ints((2,))
        )
        p.result(
            p.op("subtract", [p.op("multiply", [moved, wide], moved.shape), same], moved.shape)
        )
    p.check()


def test_transposes_of_windows_and_joined_pieces() -> None:
    """Conditions and offsets around a transposed load."""
    p = Program()
    x = p.sample((40, 36), "f32")
    flipped = transpose(p, x, (1, 0))
    zero = p.constant("1.5", (), "f32")
    p.result(p.op("pad", [flipped, zero], (39, 45), None,
                  f"edge_padding_low = {ints((1, 2))}, edge_padding_high = {ints((2, 3))}, "
                  f"interior_padding = {ints((0, 0))}"))  # fmt: skip
    other = p.sample((36, 11), "f32")
    p.result(p.op("concatenate", [flipped, other], (36, 51), None, "dimension = 1 : i64"))
    p.result(p.op("concatenate", [other, flipped], (36, 51), None, "dimension = 1 : i64"))
    part = p.op("slice", [x], (30, 31), None,
                f"start_indices = {ints((3, 2))}, limit_indices = {ints((33, 33))}, "
                f"strides = {ints((1, 1))}")  # fmt: skip
    p.result(transpose(p, part, (1, 0)))
    p.result(p.op("reverse", [flipped], flipped.shape, None, f"dimensions = {ints((0,))}"))
    p.result(p.op("reverse", [flipped], flipped.shape, None, f"dimensions = {ints((1,))}"))
    p.check()


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((1 << 22,), "f32"), ((2049, 2048), "f32"), ((2048, 2051), "f32"), ((1 << 23,), "bf16"),
     ((1 << 24,), "i8"), ((1 << 21,), "complex<f32>")],
)  # fmt: skip
def test_results_larger_than_the_caches(shape: tuple[int, ...], kind: str) -> None:
    """At 64-byte addresses, in place, and in an array of the caller's that starts elsewhere."""
    p = Program()
    x = p.sample(shape, kind)
    p.result(p.op("negate" if kind != "i8" else "abs", [x], shape))
    if len(shape) == 2:
        p.result(transpose(p, x, (1, 0)))
    p.check()
    p.check(threads=1)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float64, np.complex64, bool])
@pytest.mark.parametrize("odd", [0, 1, 40])
def test_transposes_larger_than_the_caches(dtype: type, odd: int) -> None:
    """Tiles of as many elements as a register holds, in bands of four lines; rows that are cut."""
    import hlo
    import hlo.numpy as hnp

    rng = np.random.default_rng(odd)
    side = int((17 << 20) ** 0.5 / np.dtype(dtype).itemsize ** 0.5) // 64 * 64 + odd
    x = rng.integers(0, 2 if dtype is bool else 100, (side + 128, side)).astype(dtype)
    found = np.asarray(hlo.jit(hnp.transpose)(x))
    np.testing.assert_array_equal(found, x.T)
    if odd:  # planes of short rows, and of rows that are longer than a page
        planes = x.ravel()[: x.size // 5120 * 5120].reshape(-1, 64, 80)
        found = np.asarray(hlo.jit(lambda x: hnp.transpose(x, (0, 2, 1)))(planes))
        np.testing.assert_array_equal(found, planes.transpose(0, 2, 1))


def test_large_results_in_donated_memory() -> None:
    import hlo

    text = """func.func @main(%x: tensor<Nxf32>, %y: tensor<Nxf32>) -> tensor<Nxf32> {
      %0 = hlo.add %x, %y : tensor<Nxf32>
      return %0 : tensor<Nxf32>
    }""".replace("N", "5000000")
    compiled = hlo.compile(text, donate=(0,))
    for start in range(0, 20, 4):
        whole = np.arange(5000020, dtype=np.float32)
        x, y = whole[start : start + 5000000].copy(), np.full(5000000, 2, np.float32)
        expected = x + y
        np.testing.assert_array_equal(compiled(x, y)[0], expected)


@pytest.mark.parametrize("inner", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("kind", ["f32", "bf16", "i8", "f64"])
def test_dimensions_moved_behind_the_last(inner: int, kind: str) -> None:
    """Channels last: vectors along the pixels are woven; what is no whole vector is not."""
    p = Program()
    for pixels in ((4, 4), (5, 9), (37, 3), (30, 40)):
        x = p.sample((2, inner, *pixels), kind)
        moved = transpose(p, x, (0, 2, 3, 1))
        p.result(moved)
        row, same = p.sample((inner,), kind), p.sample(moved.shape, kind)
        wide = p.op(
            "broadcast_in_dim", [row], moved.shape, None, f"broadcast_dimensions = {ints((3,))}"
        )
        scaled = p.op("multiply", [moved, wide], moved.shape)
        p.result(p.op("add", [scaled, same], moved.shape), transpose(p, same, (0, 3, 1, 2)))
    p.check()
