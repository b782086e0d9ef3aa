"""Operations that fold or order elements by a region: reductions, scans, windows, sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from fuzzing.operations import EPSILON
from fuzzing.programs import FLOATS, INTEGERS, MOST_ELEMENTS, Grower, Shape, Value, numbers, tensor
from hlo.ir.types import to_dtype


def _scalars(names: Sequence[str], kinds: Sequence[str]) -> str:
    pairs = zip(names, kinds, strict=True)
    return ", ".join(f"%{name}: {tensor((), kind)}" for name, kind in pairs)


def _ordered(x: Value) -> bool:
    """Whether the order of elements is the same for every reader: no NaN, no two zeros."""
    return x.exact and (x.kind in INTEGERS or (x.kind in FLOATS and x.tame))


def argmax(g: Grower) -> None:
    """A reduction of two operands: the largest element and the first position of it."""
    x = g.pick(lambda v: _ordered(v) and bool(v.shape) and prod(v.shape) > 0)
    if x is None:
        return
    at = g.random.randrange(len(x.shape))
    index = g.value(x.shape, "i32")
    shape = tuple(n for d, n in enumerate(x.shape) if d != at)
    low = g.like(Value("", (), x.kind), tame=True)
    none = g.like(Value("", (), "i32"), tame=True)
    s, t, i = g.value(shape, x.kind), tensor((), x.kind), tensor((), "i32")
    r = g.value(shape, "i32")
    way = g.random.choice(["GT", "LT"])
    body = (
        f"{{^bb0({_scalars(['a', 'i', 'b', 'j'], [x.kind, 'i32'] * 2)}): "
        f"%w = hlo.compare {way}, %a, %b : ({t}, {t}) -> tensor<i1> "
        f"%e = hlo.compare EQ, %a, %b : ({t}, {t}) -> tensor<i1> "
        f"%f = hlo.compare LT, %i, %j : ({i}, {i}) -> tensor<i1> "
        "%h = hlo.and %e, %f : tensor<i1> %k = hlo.or %w, %h : tensor<i1> "
        f'%p = "hlo.select"(%k, %a, %b) : (tensor<i1>, {t}, {t}) -> {t} '
        f'%q = "hlo.select"(%k, %i, %j) : (tensor<i1>, {i}, {i}) -> {i} '
        f'"hlo.return"(%p, %q) : ({t}, {i}) -> () }}'
    )
    g.emit("iota", [], (x.shape, "i32"), attributes=f"iota_dimension = {at} : i64")
    index = g.pool[-1]
    g.emit(
        "reduce", [x, index, low, none], (s.shape, x.kind), (r.shape, "i32"),
        attributes=f"dimensions = {numbers([at])}", regions=body,
    )  # fmt: skip


def running(g: Grower) -> None:
    """Running totals: a window as long as the dimension, padded on one side."""
    x = g.pick(lambda v: v.exact and 0 < len(v.shape) < 4 and prod(v.shape) > 0
               and (v.kind in INTEGERS or (v.kind in FLOATS and v.tame)))  # fmt: skip
    if x is None:
        return
    at = g.random.randrange(len(x.shape))
    op = g.random.choice(["add", "maximum", "minimum"])
    n, reverse = x.shape[at], g.random.random() < 0.3
    pads = [(0, 0)] * len(x.shape)
    pads[at] = (0, n - 1) if reverse else (n - 1, 0)
    window = [n if d == at else 1 for d in range(len(x.shape))]
    listed = ", ".join(f"[{low}, {high}]" for low, high in pads)
    neutral = {"add": 0.0, "maximum": -4.0, "minimum": 4.0}[op]
    start = (
        g.like(Value("", (), x.kind), tame=True)
        if x.kind in INTEGERS
        else _number(g, x.kind, neutral)
    )
    t = tensor((), x.kind)
    body = (
        f"{{^bb0({_scalars(['a', 'b'], [x.kind] * 2)}): %c = hlo.{op} %a, %b : {t} "
        f'"hlo.return"(%c) : ({t}) -> () }}'
    )
    attributes = (
        f"window_dimensions = {numbers(window)}, "
        f"padding = dense<[{listed}]> : tensor<{len(pads)}x2xi64>"
    )
    slack = 8.0 * n * n * EPSILON[x.kind] if op == "add" and x.kind in FLOATS else 0.0
    g.emit(
        "reduce_window", [x, start], (x.shape, x.kind), attributes=attributes, regions=body,
        exact=slack == 0, slack=slack,
    )  # fmt: skip


def _number(g: Grower, kind: str, number: float) -> Value:
    attributes = f"value = dense<{number}> : {tensor((), kind)}"
    g.emit("constant", [], ((), kind), attributes=attributes, tame=True)
    return g.pool[-1]


def select_and_scatter(g: Grower) -> None:
    x = g.pick(lambda v: _ordered(v) and 0 < len(v.shape) < 4 and prod(v.shape) > 0)
    if x is None:
        return
    window = [g.random.randint(1, min(3, n)) for n in x.shape]
    strides = [g.random.choice([1, w, 2]) for w in window]
    pads = [(g.random.randint(0, (w - 1) // 2), g.random.randint(0, w // 2)) for w in window]
    shape: list[int] = []
    for n, w, s, (low, high) in zip(x.shape, window, strides, pads, strict=True):
        shape.append((n + low + high - w) // s + 1)
    source = g.like(Value("", tuple(shape), x.kind), tame=True)
    zero = g.like(Value("", (), x.kind), tame=True)
    way, op, t = (
        g.random.choice(["GE", "LE"]),
        g.random.choice(["add", "maximum"]),
        tensor((), x.kind),
    )
    listed = ", ".join(f"[{low}, {high}]" for low, high in pads)
    attributes = (
        f"window_dimensions = {numbers(window)}, window_strides = {numbers(strides)}, "
        f"padding = dense<[{listed}]> : tensor<{len(pads)}x2xi64>"
    )
    blocks = f"^bb0({_scalars(['a', 'b'], [x.kind] * 2)})"
    regions = (
        f"{{{blocks}: %c = hlo.compare {way}, %a, %b : ({t}, {t}) -> tensor<i1> "
        f'"hlo.return"(%c) : (tensor<i1>) -> () }}, '
        f'{{{blocks}: %c = hlo.{op} %a, %b : {t} "hlo.return"(%c) : ({t}) -> () }}'
    )
    slack = 8.0 * 81 * EPSILON.get(x.kind, 0.0) if op == "add" else 0.0
    g.emit(
        "select_and_scatter", [x, source, zero], (x.shape, x.kind), attributes=attributes,
        regions=regions, exact=slack == 0, slack=slack,
    )  # fmt: skip


def map_(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and bool(v.shape))
    if x is None:
        return
    t = tensor((), x.kind)
    body = (
        f"{{^bb0({_scalars(['a', 'b'], [x.kind] * 2)}): %c = hlo.multiply %a, %b : {t} "
        f'%d = hlo.subtract %c, %b : {t} "hlo.return"(%d) : ({t}) -> () }}'
    )
    attributes = f"dimensions = {numbers(range(len(x.shape)))}"
    g.emit("map", [x, g.like(x)], (x.shape, x.kind), attributes=attributes, regions=body)


def scan(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and bool(v.shape) and prod(v.shape) > 0)
    if x is None:
        return
    at = g.random.randrange(len(x.shape))
    rest = tuple(n for d, n in enumerate(x.shape) if d != at)
    start, t = g.like(Value("", rest, x.kind)), tensor(rest, x.kind)
    body = (
        f"{{^bb0(%a: {t}, %b: {t}): %c = hlo.add %a, %b : {t} %d = hlo.maximum %a, %c : {t} "
        f'"hlo.return"(%d, %c) : ({t}, {t}) -> () }}'
    )
    reverse = g.random.choice(["true", "false"])
    attributes = (
        f"dimension = {at} : i64, is_reverse = {reverse}, "
        "operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
    )
    g.emit(
        "scan", [x, start], (x.shape, x.kind), (rest, x.kind), attributes=attributes, regions=body
    )


def float_sort(g: Grower) -> None:
    """Floats by total order, stable, with a payload and sometimes a second key."""
    x = g.pick(lambda v: v.exact and v.kind in FLOATS and bool(v.shape))
    if x is None:
        return
    at, way = g.random.randrange(len(x.shape)), g.random.choice(["LT", "GT"])
    x = _with_one_nan(g, x)
    y = g.like(Value("", x.shape, g.random.choice(["i32", "ui8", "i1"])))
    kinds = [x.kind, x.kind, y.kind, y.kind]
    t, u = tensor((), x.kind), tensor((), y.kind)
    total = "compare_type = #hlo<comparison_type TOTALORDER>"
    direction = f"comparison_direction = #hlo<comparison_direction {way}>"
    body = (
        f"{{^bb0({_scalars('pqrs', kinds)}): "
        f'%z = "hlo.compare"(%p, %q) {{{direction}, {total}}} : ({t}, {t}) -> tensor<i1> '
    )
    if g.random.random() < 0.5 and y.kind != "i1":
        body += (
            f"%e = hlo.compare LT, %r, %s : ({u}, {u}) -> tensor<i1> "
            f'%f = "hlo.compare"(%p, %q) {{comparison_direction = #hlo<comparison_direction EQ>, '
            f"{total}}} : ({t}, {t}) -> tensor<i1> "
            "%h = hlo.and %e, %f : tensor<i1> %k = hlo.or %z, %h : tensor<i1> "
            '"hlo.return"(%k) : (tensor<i1>) -> () }'
        )
    else:
        body += '"hlo.return"(%z) : (tensor<i1>) -> () }'
    attributes = f"dimension = {at} : i64, is_stable = true"
    g.emit(
        "sort", [x, y], (x.shape, x.kind), (y.shape, y.kind), attributes=attributes, regions=body
    )


def _with_one_nan(g: Grower, x: Value) -> Value:
    """The value with one NaN in place of all: total order looks at the sign and the payload of
    those that operations make, which nothing defines. NaN of arguments are alike."""
    if x.tame or x.name.startswith("%a"):
        return x
    nan = g.given(np.full(x.shape, np.nan, to_dtype(x.kind)), x.kind, tame=False)
    unequal = "comparison_direction = #hlo<comparison_direction NE>"
    g.emit("compare", [x, x], (x.shape, "i1"), attributes=unequal)
    g.emit("select", [g.pool[-1], nan, x], (x.shape, x.kind))
    return g.pool[-1]


def top_k(g: Grower) -> None:
    """Of total order, so which NaN it is matters: those of arguments are alike."""

    def accepts(x: Value) -> bool:
        alike = _ordered(x) or (x.exact and x.name.startswith("%a"))
        return alike and x.kind in ("f32", "i32", "f64", "i8") and bool(x.shape)

    x = g.pick(accepts)
    if x is not None and x.shape[-1]:
        k = g.random.randint(0, x.shape[-1])
        shape = (*x.shape[:-1], k)
        g.emit("top_k", [x], (shape, x.kind), (shape, "i32"), attributes=f"k = {k} : i64")


def _features(g: Grower) -> tuple[Value, int, Shape] | None:
    kind = g.random.choice(["f32", "f64"])
    x = g.pick(lambda v: v.exact and v.tame and v.kind == kind and bool(v.shape)
               and 0 < prod(v.shape) <= MOST_ELEMENTS)  # fmt: skip
    if x is None:
        return None
    at = g.random.randrange(len(x.shape))
    return x, at, (x.shape[at],)


def batch_norm(g: Grower) -> None:
    """The three of them; the variances given are not negative."""
    found = _features(g)
    if found is None:
        return
    x, at, features = found
    per_feature = Value("", features, x.kind)
    scale, offset = (g.like(per_feature, tame=True) for _ in range(2))
    attributes = f"epsilon = 0.5 : f32, feature_index = {at} : i64"
    slack = 4096.0 * (prod(x.shape) + 1) * EPSILON[x.kind]
    name = g.random.choice(["training", "inference", "grad"])
    if name == "training":
        g.emit(
            "batch_norm_training", [x, scale, offset], (x.shape, x.kind), (features, x.kind),
            (features, x.kind), attributes=attributes, exact=False, slack=slack,
        )  # fmt: skip
        return
    g.emit("abs", [g.like(per_feature, tame=True)], (features, x.kind), tame=True)
    variance = g.pool[-1]
    if name == "inference":
        operands = [x, scale, offset, g.like(per_feature, tame=True), variance]
        results = [(x.shape, x.kind)]
    else:
        operands = [x, scale, g.like(per_feature, tame=True), variance, g.like(x, tame=True)]
        results = [(x.shape, x.kind), (features, x.kind), (features, x.kind)]
    g.emit(
        f"batch_norm_{name}", operands, *results, attributes=attributes, exact=False, slack=slack
    )


MAKERS: tuple[Callable[[Grower], None], ...] = (
    argmax, running, select_and_scatter, map_, scan, float_sort, top_k, batch_norm,
)  # fmt: skip
