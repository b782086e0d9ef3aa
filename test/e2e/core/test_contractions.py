"""Dots and convolutions of odd sizes and dimension orders, with what fuses behind them."""

from __future__ import annotations

import itertools

import pytest
from core_programs import Program, Value, number
from test_data_movement import ints


def dot(
    p: Program, a: Value, b: Value, contract: tuple[list[int], list[int]],
    batch: tuple[list[int], list[int]] = ([], []), kind: str | None = None,
) -> Value:  # fmt: skip
    fields: list[str] = []
    for side, dims in zip(("lhs", "rhs"), batch, strict=True):
        if dims:
            fields.append(f"{side}_batching_dimensions = [{', '.join(map(str, dims))}]")
    for side, dims in zip(("lhs", "rhs"), contract, strict=True):
        if dims:
            fields.append(f"{side}_contracting_dimensions = [{', '.join(map(str, dims))}]")
    shape = [a.shape[d] for d in batch[0]]
    shape += [n for d, n in enumerate(a.shape) if d not in (*batch[0], *contract[0])]
    shape += [n for d, n in enumerate(b.shape) if d not in (*batch[1], *contract[1])]
    return p.op(
        "dot_general", [a, b], shape, kind, f"dot_dimension_numbers = #hlo.dot<{', '.join(fields)}>"
    )


@pytest.mark.parametrize("kind", ["f32", "f64", "i32", "bf16", "f16", "complex<f32>", "i8", "i1"])
def test_matrix_products(kind: str) -> None:
    p = Program()
    for m, n, k in [(1, 1, 1), (1, 17, 33), (5, 3, 16), (33, 15, 7), (3, 64, 0), (16, 1, 100)]:
        a, b = p.sample((m, k), kind), p.sample((k, n), kind)
        c, d = p.sample((k, m), kind), p.sample((n, k), kind)
        p.result(
            dot(p, a, b, ([1], [0])), dot(p, c, b, ([0], [0])),
            dot(p, a, d, ([1], [1])), dot(p, c, d, ([0], [1])),
        )  # fmt: skip
    p.check(ulps=8)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(129, 65, 97), (257, 48, 130), (1, 513, 700), (57, 101, 40), (20, 150, 30)]
)
def test_larger_products(m: int, n: int, k: int) -> None:
    p = Program()
    a, b, bias = p.sample((m, k), "f32"), p.sample((k, n), "f32"), p.sample((n,), "f32")
    product = dot(p, a, b, ([1], [0]))
    wide = p.op(
        "broadcast_in_dim", [bias], (m, n), attributes="broadcast_dimensions = array<i64: 1>"
    )
    p.result(p.op("tanh", [p.op("add", [product, wide], (m, n))], (m, n)))
    p.check(ulps=64)


# Rows, columns and depth that end within a tile, a panel and a part of the depth; batches.
PACKED = {
    "right turned": ((), 37, 50, 331, "nt"),
    "right turned, short": ((), 16, 16, 130, "nt"),
    "left turned": ((), 771, 100, 25, "tn"),
    "left turned, two parts": ((), 785, 68, 200, "tn"),
    "both turned": ((), 800, 145, 19, "tt"),
    "large right": ((), 29, 1021, 1030, "nn"),
    "batch": ((2, 3), 20, 33, 177, "nt"),
}


@pytest.mark.parametrize("name", list(PACKED))
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_packed_products(name: str, kind: str) -> None:
    batch, m, n, k, layout = PACKED[name]
    p = Program()
    rank = len(batch)
    a = p.sample((*batch, *((m, k) if layout[0] == "n" else (k, m))), kind)
    b = p.sample((*batch, *((k, n) if layout[1] == "n" else (n, k))), kind)
    contract = ([rank + (layout[0] == "n")], [rank + (layout[1] == "t")])
    shape = (*batch, m, n)
    product = dot(p, a, b, contract, (list(range(rank)), list(range(rank))))
    p.result(p.op("add", [product, p.sample(shape, kind)], shape))
    p.check(ulps=8)


@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_packed_products_of_doubles(layout: str) -> None:
    p = Program()
    m, n, k = (700, 30, 90) if layout == "tn" else (26, 1100, 960)
    a = p.sample((m, k) if layout[0] == "n" else (k, m), "f64")
    b = p.sample((k, n) if layout[1] == "n" else (n, k), "f64")
    p.result(dot(p, a, b, ([int(layout[0] == "n")], [int(layout[1] == "t")])))
    p.check(ulps=8)


@pytest.mark.parametrize("kind", ["f32", "i16"])
def test_dimension_numbers_of_dots(kind: str) -> None:
    """Every choice of one batch and one contracted dimension of rank 3 operands."""
    sizes = {"b": 2, "k": 5, "m": 3, "n": 4}
    p = Program()
    for left, right in itertools.product(
        itertools.permutations("bkm"), itertools.permutations("bkn")
    ):
        a = p.sample([sizes[c] for c in left], kind)
        b = p.sample([sizes[c] for c in right], kind)
        p.result(
            dot(
                p, a, b, ([left.index("k")], [right.index("k")]),
                ([left.index("b")], [right.index("b")]),
            )
        )  # fmt: skip
    p.check(ulps=8)


def test_dots_of_several_contracted_and_batch_dimensions() -> None:
    p = Program()
    a, b = p.sample((2, 3, 4, 5, 6), "f32"), p.sample((5, 2, 6, 3, 7), "f32")
    p.result(
        dot(p, a, b, ([3, 4], [0, 2]), ([0, 1], [1, 3])),
        dot(p, a, b, ([0, 3], [1, 0]), ([4], [2])),
        dot(p, a, b, ([1], [3])),
        dot(p, p.sample((3,), "f32"), p.sample((4, 3), "f32"), ([0], [1])),
        dot(p, p.sample((7,), "f32"), p.sample((7,), "f32"), ([0], [0])),
        dot(p, p.sample((), "f32"), p.sample((3, 2), "f32"), ([], [])),
        dot(p, p.sample((4, 3), "f32"), p.sample((2, 5), "f32"), ([], [])),
    )
    p.check(ulps=8)


@pytest.mark.parametrize("kind", ["f32", "bf16", "f64"])
def test_epilogues(kind: str) -> None:
    """Bias along either side, a residual, a scale, a reshape and a transpose behind a dot."""
    p = Program()
    for m, n, k in [(7, 33, 19), (16, 16, 16), (1, 5, 3), (40, 20, 10)]:
        a, b = p.sample((m, k), kind), p.sample((k, n), kind)
        residual = p.sample((m, n), kind)
        shape = (m, n)
        product = dot(p, a, b, ([1], [0]))
        for side, size in ((0, m), (1, n)):
            bias = p.op(
                "broadcast_in_dim", [p.sample((size,), kind)], shape,
                attributes=f"broadcast_dimensions = array<i64: {side}>",
            )  # fmt: skip
            value = p.op("add", [dot(p, a, b, ([1], [0])), bias], shape)
            value = p.op("maximum", [value, p.constant(number(0, kind), shape, kind)], shape)
            p.result(p.op("add", [value, residual], shape))
        p.result(
            p.op("reshape", [p.op("negate", [product], shape)], (n * m,)),
            p.op(
                "transpose", [dot(p, b, a, ([0], [1]))], shape,
                attributes="permutation = array<i64: 1, 0>",
            ),
        )  # fmt: skip
    p.check(ulps=16)


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_few_columns(kind: str) -> None:
    p = Program()
    for n in (2, 10, 13):
        product = dot(p, p.sample((50, 70), kind), p.sample((n, 70), kind), ([1], [1]))
        p.result(p.op("add", [product, p.sample((50, n), kind)], (50, n)))
    p.check(ulps=8)


def test_dot_of_a_computed_operand() -> None:
    p = Program()
    a, b = p.sample((6, 20), "f32"), p.sample((20, 17), "f32")
    left = p.op("exponential", [a], a.shape)
    right = p.op("transpose", [p.op("negate", [b], b.shape)], (17, 20),
                 attributes="permutation = array<i64: 1, 0>")  # fmt: skip
    p.result(dot(p, left, right, ([1], [1])), dot(p, left, left, ([1], [1])))
    p.check(ulps=32)


def convolve(
    p: Program, x: Value, w: Value, layout: str,
    stride: list[int], pads: list[tuple[int, int]], base: list[int], spread: list[int],
    groups: int = 1, batches: int = 1, turned: list[bool] | None = None, kind: str | None = None,
) -> Value:  # fmt: skip
    """`layout` is three words over b, f, i, o and digits: input, kernel, result."""
    data, kernel, result = layout.split()
    rank = len(stride)

    def named(word: str) -> list[int]:
        return [word.index(str(d)) for d in range(rank)]

    spatial = []
    for d in range(rank):
        n = x.shape[named(data)[d]]
        k = w.shape[named(kernel)[d]]
        span = (n - 1) * base[d] + 1 + sum(pads[d])
        spatial.append((span - ((k - 1) * spread[d] + 1)) // stride[d] + 1)
    shape = [0] * (rank + 2)
    shape[result.index("b")] = x.shape[data.index("b")] // batches
    shape[result.index("f")] = w.shape[kernel.index("o")]
    for d in range(rank):
        shape[named(result)[d]] = spatial[d]
    first, second, third = (f"[{', '.join(word)}]" for word in (data, kernel, result))
    numbers = f"#hlo.conv<{first}x{second}->{third}>"
    rows = ", ".join(f"[{low}, {high}]" for low, high in pads)
    reversal = ", ".join(str(t).lower() for t in turned or [False] * rank)
    return p.op(
        "convolution", [x, w], shape, kind,
        attributes=f"dimension_numbers = {numbers}, window_strides = {ints(stride)}, "
        f"padding = dense<[{rows}]> : tensor<{rank}x2xi64>, lhs_dilation = {ints(base)}, "
        f"rhs_dilation = {ints(spread)}, window_reversal = array<i1: {reversal}>, "
        f"feature_group_count = {groups} : i64, batch_group_count = {batches} : i64",
    )  # fmt: skip


CONVOLUTIONS = {
    "nhwc": (
        "b01f 01io b01f", (2, 7, 9, 3), (3, 3, 3, 17),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 1),
    "nchw": (
        "bf01 oi01 bf01", (1, 4, 8, 8), (5, 4, 3, 2),
        [2, 1], [(0, 0), (0, 1)], [1, 1], [1, 1], 1, 1),
    "one by one": (
        "b01f 01io b01f", (1, 5, 5, 16), (1, 1, 16, 33),
        [1, 1], [(0, 0), (0, 0)], [1, 1], [1, 1], 1, 1),
    "one by one, strided": (
        "b01f 01io b01f", (2, 9, 8, 17), (1, 1, 17, 20),
        [2, 3], [(0, 0), (1, 0)], [1, 1], [1, 1], 1, 1),
    "one by one of planes": (
        "bf01 oi01 bf01", (2, 16, 5, 6), (20, 16, 1, 1),
        [1, 1], [(0, 0), (0, 0)], [1, 1], [1, 1], 1, 1),
    "few positions": (
        "b01f 01io b01f", (2, 5, 4, 16), (3, 2, 16, 33),
        [2, 1], [(1, 1), (0, 1)], [1, 1], [1, 2], 1, 1),
    "few positions of planes": (
        "bf01 oi01 bf01", (1, 16, 4, 4), (16, 16, 3, 3),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 1),
    "dilated window": (
        "b01f 01io b01f", (1, 9, 9, 2), (3, 3, 2, 4),
        [1, 2], [(2, 0), (-1, 3)], [1, 1], [2, 3], 1, 1),
    "dilated input": (
        "b01f 01io b01f", (1, 4, 5, 2), (3, 3, 2, 4),
        [1, 1], [(2, 2), (2, 1)], [2, 3], [1, 1], 1, 1),
    "depthwise": (
        "b01f 01io b01f", (2, 6, 6, 17), (3, 3, 1, 17),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 17, 1),
    "feature groups": (
        "b01f 01io b01f", (2, 6, 6, 6), (3, 3, 2, 9),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 3, 1),
    "batch groups": (
        "b01f 01io b01f", (4, 6, 6, 3), (3, 3, 3, 6),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 2),
    "batch groups of vectors": (
        "b01f 01io b01f", (6, 5, 7, 3), (3, 3, 3, 80),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 2),
    "small groups": (
        "b01f 01io b01f", (1, 6, 7, 32), (3, 3, 4, 32),
        [1, 1], [(0, 0), (1, 1)], [1, 1], [1, 1], 8, 1),
    "small batch groups": (
        "f01b i01o 01bf", (3, 5, 6, 64), (3, 5, 6, 64),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 16),
    "small batch groups, eights": (
        "f01b i01o 01bf", (3, 9, 14, 64), (3, 2, 3, 64),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 8),
    "small batch groups, pairs": (
        "f01b i01o 01bf", (3, 9, 14, 32), (3, 2, 3, 32),
        [1, 1], [(0, 0), (1, 1)], [1, 1], [1, 1], 1, 16),
    "batch groups in lanes": (
        "f01b i01o 01bf", (3, 5, 6, 20), (3, 5, 6, 20),
        [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1], 1, 20),
    "kernel as large as the input": (
        "f01b i01o 01bf", (3, 5, 6, 4), (3, 5, 6, 7),
        [1, 1], [(0, 0), (0, 0)], [1, 1], [1, 1], 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CONVOLUTIONS))
@pytest.mark.parametrize("kind", ["f32", "f16", "i32"])
def test_convolutions(name: str, kind: str) -> None:
    layout, data, kernel, stride, pads, base, spread, groups, batches = CONVOLUTIONS[name]
    p = Program()
    x, w = p.sample(data, kind), p.sample(kernel, kind)
    for turned in ([False, False], [True, False]):
        y = convolve(
            p, x, w, layout, stride, pads, base, spread, groups, batches, turned
        )  # fmt: skip
        p.result(y, p.op("multiply", [y, y], y.shape))
    p.check(ulps=16)


@pytest.mark.parametrize("rank", [1, 3])
def test_convolutions_of_other_ranks(rank: int) -> None:
    spatial = "".join(map(str, range(rank)))
    p = Program()
    x = p.sample((2, *range(5, 5 + rank), 3), "f32")
    w = p.sample((*([3] * rank), 3, 5), "f32")
    y = convolve(
        p, x, w, f"b{spatial}f {spatial}io b{spatial}f", [1] * rank, [(1, 1)] * rank,
        [1] * rank, [1] * rank,
    )  # fmt: skip
    bias = p.op(
        "broadcast_in_dim", [p.sample((5,), "f32")], y.shape,
        attributes=f"broadcast_dimensions = array<i64: {rank + 1}>",
    )  # fmt: skip
    p.result(p.op("add", [y, bias], y.shape))
    p.check(ulps=16)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("columns", [2, 3, 4, 7])
def test_fewer_columns_than_half_a_vector(kind: str, columns: int) -> None:
    p = Program()
    x, w = p.sample((70, 33), kind), p.sample((33, columns), kind)
    p.result(dot(p, x, w, ([1], [0])))
    y = p.sample((70, columns), kind)
    p.result(dot(p, x, y, ([0], [0])))
    p.check()


@pytest.mark.parametrize("size", [5, 513])
def test_nothing_is_contracted(size: int) -> None:
    p = Program()
    p.result(dot(p, p.sample((size,), "f32"), p.sample((size + 1,), "f32"), ([], [])))
    p.check(optimize=False)
