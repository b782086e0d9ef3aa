"""Reductions over every subset of dimensions, their fusions, windows and scans."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from core_programs import ALL_TYPES, Program, Value, number, reducer, tensor
from test_data_movement import ints


def reduce(
    p: Program, x: Value, dims: tuple[int, ...], op: str = "add", start: str | None = None
) -> Value:
    initial = p.constant(start or number(0, x.kind), (), x.kind)
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    return p.op(
        "reduce", [x, initial], shape, None, f"dimensions = {ints(dims)}", reducer(op, x.kind)
    )


def subsets(rank: int) -> list[tuple[int, ...]]:
    return [c for n in range(rank + 1) for c in itertools.combinations(range(rank), n)]


@pytest.mark.parametrize(
    "shape", [(17,), (4097,), (3, 33), (33, 3), (2, 3, 4, 5), (1, 16, 1), (5, 1, 17, 2), (0, 3), ()]
)
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_sums_over_every_subset(shape: tuple[int, ...], kind: str) -> None:
    p = Program()
    x = p.sample(shape, kind)
    for dims in subsets(len(shape)):
        p.result(reduce(p, x, dims))
    p.check(ulps=4)


@pytest.mark.parametrize("kind", [k for k in ALL_TYPES if k not in ("i2", "f8E8M0FNU")])
def test_sum_and_extrema_of_every_type(kind: str) -> None:
    """Few enough halves that the sums are exact, or equally rounded, in the narrow types."""
    p = Program()
    for size in (1, 15, 16, 33):
        x = p.sample((3, size), kind)
        for op in ("add", "maximum", "minimum"):
            if kind.startswith("complex") and op != "add":
                continue
            p.result(reduce(p, x, (1,), op), reduce(p, x, (0,), op))
    p.check(ulps=1)


@pytest.mark.parametrize("op", ["and", "or", "xor", "multiply"])
@pytest.mark.parametrize("kind", ["i1", "i8", "ui32", "i64"])
def test_reductions_of_bits_and_products(op: str, kind: str) -> None:
    p = Program()
    for shape in [(4, 33), (33, 4), (1000,)]:
        x = p.sample(shape, kind)
        for dims in subsets(len(shape))[1:]:
            p.result(reduce(p, x, dims, op, "true" if kind == "i1" else "3"))
    p.check()


@pytest.mark.parametrize("op", ["maximum", "minimum", "add"])
def test_special_values_of_reductions(op: str) -> None:
    """NaN anywhere gives NaN, in whole vectors, in the masked rest, with a start of -0."""
    p = Program()
    for size, at in [(40, 3), (40, 39), (17, 16), (3, 1), (100, -1)]:
        array = np.linspace(-4, 5, size, dtype=np.float32)
        if at >= 0:
            array[at] = np.nan
        x = p.argument(np.stack([array, -array, np.full(size, -0.0, np.float32)]))
        p.result(reduce(p, x, (1,), op, "-0.0"), reduce(p, x, (0,), op, "-0.0"))
    p.check(ulps=4)


@pytest.mark.parametrize("kind", ["f32", "f16", "i8"])
def test_producers_and_consumers_of_reductions(kind: str) -> None:
    p = Program()
    for shape in [(7, 33), (33, 7), (3, 1000)]:
        x, y = p.sample(shape, kind), p.sample(shape, kind)
        product = p.op("subtract", [p.op("add", [x, y], shape), y], shape)
        for d in (0, 1):
            total = reduce(p, product, (d,))
            back = p.op(
                "broadcast_in_dim", [total], shape,
                attributes=f"broadcast_dimensions = array<i64: {1 - d}>",
            )  # fmt: skip
            p.result(p.op("subtract", [product, back], shape), p.op("negate", [total], total.shape))
    p.check(ulps=2)


@pytest.mark.parametrize("shape", [(3, 17), (2, 3, 64), (5, 1), (1, 4097), (4, 3, 5)])
def test_softmax_and_layer_norm(shape: tuple[int, ...]) -> None:
    p = Program()
    x = p.sample(shape, "f32")
    last = len(shape) - 1
    dims = f"broadcast_dimensions = {ints(range(last))}"

    def spread(v: Value) -> Value:
        return p.op("broadcast_in_dim", [v], shape, attributes=dims)

    top = reduce(p, x, (last,), "maximum", "0xFF800000")
    e = p.op("exponential", [p.op("subtract", [x, spread(top)], shape)], shape)
    p.result(p.op("divide", [e, spread(reduce(p, e, (last,)))], shape))
    count = p.constant(str(float(shape[-1])), shape[:-1], "f32")
    mean = p.op("divide", [reduce(p, x, (last,)), count], shape[:-1])
    centred = p.op("subtract", [x, spread(mean)], shape)
    square = p.op("multiply", [centred, centred], shape)
    variance = p.op("divide", [reduce(p, square, (last,)), count], shape[:-1])
    small = p.constant("1.0e-3", shape[:-1], "f32")
    scale = p.op("rsqrt", [p.op("add", [variance, small], shape[:-1])], shape[:-1])
    p.result(p.op("multiply", [centred, spread(scale)], shape))
    p.check(ulps=16)


def argmax(p: Program, x: Value, d: int, index: str) -> list[Value]:
    """(maximum, its first index) by a variadic reduction."""
    where = p.op("iota", [], x.shape, index, f"iota_dimension = {d} : i64")
    low, zero = p.constant("0xFF800000", (), "f32"), p.constant("0", (), index)
    f, i = tensor((), "f32"), tensor((), index)
    region = f"""{{^bb0(%a: {f}, %m: {i}, %b: {f}, %n: {i}):
      %gt = "hlo.compare"(%a, %b) {{comparison_direction = #hlo<comparison_direction GT>}}
        : ({f}, {f}) -> tensor<i1>
      %eq = "hlo.compare"(%a, %b) {{comparison_direction = #hlo<comparison_direction EQ>}}
        : ({f}, {f}) -> tensor<i1>
      %lt = "hlo.compare"(%m, %n) {{comparison_direction = #hlo<comparison_direction LT>}}
        : ({i}, {i}) -> tensor<i1>
      %tie = "hlo.and"(%eq, %lt) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %pick = "hlo.or"(%gt, %tie) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %v = "hlo.select"(%gt, %a, %b) : (tensor<i1>, {f}, {f}) -> {f}
      %w = "hlo.select"(%pick, %m, %n) : (tensor<i1>, {i}, {i}) -> {i}
      "hlo.return"(%v, %w) : ({f}, {i}) -> ()}}"""
    shape = [n for k, n in enumerate(x.shape) if k != d]
    return p.ops(
        "reduce", [x, where, low, zero], [(shape, "f32"), (shape, index)],
        f"dimensions = array<i64: {d}>", region,
    )  # fmt: skip


@pytest.mark.parametrize("index", ["i32", "i64", "i8"])
def test_argmax(index: str) -> None:
    p = Program()
    for shape in [(5, 33), (33, 5), (1, 16), (3, 100)]:
        x = p.sample(shape, "f32")
        for d in (0, 1):
            _, where = argmax(p, x, d, index)  # the value is dead in this one
            p.result(where, *argmax(p, x, d, index))
    p.check()


def window(
    p: Program, x: Value, op: str, start: str, size: list[int], stride: list[int],
    base: list[int], spread: list[int], pads: list[tuple[int, int]],
) -> Value:  # fmt: skip
    initial = p.constant(start, (), x.kind)
    shape: list[int] = []
    for n, w, s, b, d, (low, high) in zip(x.shape, size, stride, base, spread, pads, strict=True):
        dilated = (n - 1) * b + 1 if n else 0
        reach = (w - 1) * d + 1
        padded = dilated + low + high
        shape.append((padded - reach) // s + 1 if padded >= reach else 0)
    rows = ", ".join(f"[{low}, {high}]" for low, high in pads)
    attributes = (
        f"window_dimensions = {ints(size)}, window_strides = {ints(stride)}, "
        f"base_dilations = {ints(base)}, window_dilations = {ints(spread)}, "
        f"padding = dense<[{rows}]> : tensor<{len(pads)}x2xi64>"
    )
    return p.op("reduce_window", [x, initial], shape, None, attributes, reducer(op, x.kind))


@pytest.mark.parametrize("kind", ["f32", "i32", "bf16"])
@pytest.mark.parametrize(("op", "start"), [("add", 0), ("maximum", -100)])
def test_windows(kind: str, op: str, start: int) -> None:
    p = Program()
    x = p.sample((2, 9, 20), kind)
    for size, stride, base, spread, pads in [
        ([1, 2, 2], [1, 2, 2], [1, 1, 1], [1, 1, 1], [(0, 0), (0, 0), (0, 0)]),
        ([1, 3, 3], [1, 1, 1], [1, 1, 1], [1, 1, 1], [(0, 0), (1, 1), (1, 1)]),
        ([2, 1, 20], [1, 1, 1], [1, 1, 1], [1, 1, 1], [(1, 0), (0, 0), (19, 0)]),
        ([1, 2, 3], [1, 2, 1], [1, 2, 3], [1, 2, 2], [(0, 0), (2, 3), (-1, 4)]),
        ([1, 1, 1], [2, 3, 4], [1, 1, 1], [1, 1, 1], [(0, 0), (-1, 0), (3, -2)]),
        ([1, 9, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [(0, 0), (8, 0), (0, 0)]),
    ]:
        w = window(p, x, op, number(start, kind), size, stride, base, spread, pads)
        p.result(w, p.op("add", [w, w], w.shape))
    p.check(ulps=4)


@pytest.mark.parametrize("kind", ["f32", "i32", "bf16", "i8", "complex<f32>"])
@pytest.mark.parametrize("start", [0, 1])
def test_running_totals(kind: str, start: int) -> None:
    """Along each dimension from either end; padding adds the initial value, which may be 1."""
    p = Program()
    for shape in [(40,), (5, 17), (3, 20, 16), (1, 1000), (7, 1)]:
        x = p.sample(shape, kind)
        rank = len(shape)
        for d, backwards in itertools.product(range(rank), (False, True)):
            n = shape[d]
            size = [n if k == d else 1 for k in range(rank)]
            pads = [(0, 0)] * rank
            pads[d] = (0, n - 1) if backwards else (n - 1, 0)
            ones = [1] * rank
            y = p.op("add", [x, x], shape)
            total = window(p, y, "add", number(start, kind), size, ones, ones, ones, pads)
            p.result(total, p.op("negate", [total], shape))
            if kind in ("f32", "i32"):
                p.result(window(p, y, "maximum", number(-3, kind), size, ones, ones, ones, pads))
    p.check(ulps=64)


def test_windows_of_rank_zero() -> None:
    scalar = tensor((), "f32")
    select = (
        f'{{^bb0(%a: {scalar}, %b: {scalar}): %c = "hlo.compare"(%a, %b) '
        "{comparison_direction = #hlo<comparison_direction GE>} : "
        f'({scalar}, {scalar}) -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> ()}}'
    )
    p = Program()
    x, source, start = p.sample((), "f32"), p.sample((), "f32"), p.constant("1.0", (), "f32")
    p.result(
        p.op(
            "select_and_scatter", [x, source, start], (),
            regions=f"{select}, {reducer('add', 'f32')}",
        ),
        p.op(
            "reduce_window", [x, start], (), attributes="window_dimensions = array<i64>",
            regions=reducer("add", "f32"),
        ),
    )  # fmt: skip
    p.check()
