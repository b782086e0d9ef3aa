"""Products of matrices that are packed for the tiles: transposed, narrow, deep, and cut off."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value, sample
from test_contractions import dot
from test_matrix_vectors import bias_and_residual

import hlo

TURNED = ([1], [1])  # [m, k] x [n, k]
BOTH = ([0], [1])  # [k, m] x [n, k]
LEFT = ([0], [0])  # [k, m] x [k, n]


# Tiles of 14, 8 and 6 rows and of 16 to 64 columns, whole and cut off; squares of 16 cut off.
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (16, 16, 16), (16, 16, 128), (24, 30, 20), (40, 48, 33), (100, 70, 90), (31, 129, 64),
        (65, 33, 130), (13, 40, 200), (15, 150, 70), (130, 140, 120),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f16"])
def test_turned_operands(m: int, n: int, k: int, kind: str) -> None:
    p = Program()
    a, b = p.sample((m, k), kind), p.sample((n, k), kind)
    product = dot(p, a, b, TURNED)
    p.result(product, bias_and_residual(p, product, kind))
    p.result(dot(p, p.sample((k, m), kind), b, BOTH))
    p.check(ulps=64)


# 768 steps of the depth are one block; 1000 are 512 and 488, 1537 three of 400, and 337.
@pytest.mark.parametrize("k", [768, 769, 1000, 1537])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_depth_in_parts(k: int, kind: str) -> None:
    p = Program()
    product = dot(p, p.sample((50, k), kind), p.sample((300, k), kind), TURNED)
    p.result(product, bias_and_residual(p, product, kind))
    p.result(dot(p, p.sample((k, 37), kind), p.sample((40, k), kind), BOTH))
    p.check(ulps=128)


# Parts of 136, 144 and 176 steps, beside whose products what is packed next is fetched: the parts
# are not made of whole runs of 16 or 32 steps, the depth is.
@pytest.mark.parametrize(("n", "k", "kind"), [
    (256, 272, "f64"), (384, 400, "f64"), (256, 288, "f32"), (384, 352, "f32"), (256, 288, "bf16"),
])  # fmt: skip
@pytest.mark.parametrize("computed", [False, True])
def test_parts_of_the_depth_that_end_between_fetches(
    n: int, k: int, kind: str, computed: bool
) -> None:
    p = Program()
    m = 301
    for contract in (([1], [0]), TURNED, LEFT):
        a = p.sample((m, k) if contract[0] == [1] else (k, m), kind)
        b = p.sample((k, n) if contract[1] == [0] else (n, k), kind)
        if computed:
            a = p.op("multiply", [a, p.sample(a.shape, kind)], a.shape)
        p.result(bias_and_residual(p, dot(p, a, b, contract), kind))
    p.check(ulps=128)


# Tiles of 14, 12, 8 and 6 rows, whole and cut off, are woven to 16 or 8; steps end within a vector,
# in one part of the depth and in several; so do blocks of rows and of columns.
@pytest.mark.parametrize(("m", "n", "k"), [
    (29, 16, 33), (145, 30, 70), (131, 47, 331), (403, 256, 450), (771, 145, 610), (17, 700, 129),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_computed_left_operands(m: int, n: int, k: int, kind: str) -> None:
    p = Program()
    a = p.op("multiply", [p.sample((m, k), kind), p.sample((m, k), kind)], (m, k))
    for contract in (([1], [0]), TURNED):
        b = p.sample((k, n) if contract[1] == [0] else (n, k), kind)
        product = dot(p, p.op("abs", [a], (m, k)), b, contract)
        p.result(bias_and_residual(p, product, kind))
    p.check(ulps=256)


# 800 floats are 3200 bytes from step to step: the left operand is packed too.
@pytest.mark.parametrize(("m", "n", "k"), [(800, 20, 16), (1030, 50, 270), (769, 97, 65)])
def test_left_operand_far_apart(m: int, n: int, k: int) -> None:
    p = Program()
    product = dot(p, p.sample((k, m), "f32"), p.sample((k, n), "f32"), LEFT)
    p.result(product, bias_and_residual(p, product, "f32"))
    p.check(ulps=64)


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i8"])
@pytest.mark.parametrize("rows", [1, 8, 13, 40])
def test_constant_right_operands(rows: int, kind: str) -> None:
    """One is stored with its columns minor, one that is a result too as it is."""
    p, results = Program(), list[Value]()
    for number in range(2):
        array = sample((100, 72), kind, number)
        text = f'"0x{array.tobytes().hex().upper()}"'
        w = p.constant(text, array.shape, kind)
        results.append(dot(p, p.sample((rows, 72), kind), w, TURNED))
    p.result(*results, w)
    p.check(ulps=64)


def test_batches() -> None:
    p = Program()
    both = ([0], [0])
    p.result(
        dot(p, p.sample((3, 40, 24), "f32"), p.sample((3, 50, 24), "f32"), ([2], [2]), both),
        # Heads between positions and features.
        dot(p, p.sample((40, 3, 24), "f32"), p.sample((50, 3, 24), "f32"),
            ([2], [2]), ([1], [1])),
        dot(p, p.sample((2, 3, 33, 64), "f32"), p.sample((2, 3, 31, 64), "f32"),
            ([3], [3]), ([0, 1], [0, 1])),
    )  # fmt: skip
    p.check(ulps=64)


def test_special_values_stay_in_their_row_and_column() -> None:
    """The zeros that fill up panels meet no infinity of another row."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (s, 70)).astype(np.float32) for s in (45, 37))
    a[44, 69], a[3, 0], b[36, 69], b[5, 20] = np.inf, np.nan, np.inf, -np.inf
    p = Program()
    left, right = p.argument(a), p.argument(b)
    p.result(dot(p, left, right, TURNED))
    p.result(dot(p, p.argument(np.ascontiguousarray(a.T)), right, BOTH))
    p.check(ulps=16)


def test_result_does_not_depend_on_threads() -> None:
    import hlo

    p = Program()
    p.result(dot(p, p.sample((200, 900), "f32"), p.sample((300, 900), "f32"), TURNED))
    one, four = (hlo.compile(p.text, threads=t)(*p.arguments) for t in (1, 4))
    assert one[0].tobytes() == four[0].tobytes()


def test_a_constant_matrix_whose_rows_are_a_batch() -> None:
    """Rows of a constant that each meet a matrix of their own: it is not turned around."""
    left = "tensor<3x40x16xf32>"
    text = f"""
    func.func @main(%x: {left}) -> tensor<3x16xf32> {{
      %w = hlo.constant dense<{np.arange(120.0).reshape(3, 40).tolist()}> : tensor<3x40xf32>
      %0 = hlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [1] x [1]
        : ({left}, tensor<3x40xf32>) -> tensor<3x16xf32>
      return %0 : tensor<3x16xf32>
    }}
    """
    weights = np.arange(120, dtype=np.float32).reshape(3, 40)
    x = np.random.default_rng(0).standard_normal((3, 40, 16), np.float32)
    (found,) = hlo.compile(text)(x)
    np.testing.assert_allclose(found, np.einsum("bki,bk->bi", x, weights), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_rows_that_are_no_one_axis(kind: str) -> None:
    """The contracted dimension of a left operand lies between its own."""
    p = Program()
    for shape, columns, contract in [
        ((5, 200, 130), (200, 150), ([1], [0])),  # packed, transposed
        ((3, 2, 150, 129), (144, 150), ([2], [1])),  # two outer rows, the right operand turned
        ((3, 70, 5, 257), (70, 5, 130), ([1, 2], [0, 1])),  # two contracted dimensions
        ((3, 100, 30), (100, 130), ([1], [0])),  # too few rows: not packed
    ]:
        a, b = p.sample(shape, kind), p.sample(columns, kind)
        product = dot(p, a, b, contract)
        p.result(product, bias_and_residual(p, product, kind))
        computed = p.op("multiply", [a, a], shape)
        p.result(dot(p, computed, b, contract))
    # Beside a batch that both operands have.
    a, b = p.sample((2, 3, 140, 100), kind), p.sample((2, 140, 130), kind)
    p.result(dot(p, a, b, ([2], [1]), ([0], [0])))
    p.check(ulps=256)


# Results of one block of tiles: the depth is cut in 4, 3 and 2 parts, whose sums meet what follows.
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 2048), (97, 70, 1536), (130, 126, 1100)])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_deep_products_of_few_tiles(m: int, n: int, k: int, kind: str) -> None:
    p = Program()
    for contract in (([1], [0]), TURNED, LEFT):
        a = p.sample((m, k) if contract[0] == [1] else (k, m), kind)
        b = p.sample((k, n) if contract[1] == [0] else (n, k), kind)
        product = dot(p, a, b, contract)
        p.result(product, bias_and_residual(p, product, kind))
    p.check(ulps=256)


# 100, 196 and 340 rows are tiles of 6, the last of 4; 92 and 405 of 8, the last of 4 and 5. It is
# as large as the others: rows read in place begin before its own, packed ones end behind.
@pytest.mark.parametrize(("m", "n", "k"), [
    (100, 256, 272), (196, 128, 1024), (340, 250, 400), (92, 240, 1024), (405, 144, 300),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("computed", [False, True])
def test_last_tiles_of_fewer_rows(m: int, n: int, k: int, kind: str, computed: bool) -> None:
    p = Program()
    for contract in (([1], [0]), TURNED, LEFT):
        a = p.sample((m, k) if contract[0] == [1] else (k, m), kind)
        b = p.sample((k, n) if contract[1] == [0] else (n, k), kind)
        if computed:
            a = p.op("multiply", [a, p.sample(a.shape, kind)], a.shape)
        product = dot(p, a, b, contract)
        p.result(product, bias_and_residual(p, dot(p, a, b, contract), kind))
    p.check(ulps=128)


@pytest.mark.parametrize("m", [100, 196, 92])
def test_rows_of_the_last_tile_are_added_in_place_once(m: int) -> None:
    rng = np.random.default_rng(0)
    n, k = 240, 300
    a, b, x = (rng.standard_normal(s, np.float32) for s in ((m, k), (k, n), (m, n)))
    text = f"""func.func @main(
        %a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %x: tensor<{m}x{n}xf32>
      ) -> tensor<{m}x{n}xf32> {{
      %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
      %1 = hlo.add %0, %x : tensor<{m}x{n}xf32>
      return %1 : tensor<{m}x{n}xf32>
    }}"""
    compiled = hlo.compile(text, donate=(2,), vendor=False)
    assert "memref.alloc()" not in compiled.as_text("host")
    (found,) = compiled(a, b, x.copy())
    np.testing.assert_allclose(found, a @ b + x, rtol=1e-4, atol=1e-4)
