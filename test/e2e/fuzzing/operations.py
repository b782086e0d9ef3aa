"""The operations that random programs are grown from, a function each."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from fuzzing.programs import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    MOST_ELEMENTS,
    NARROW_FLOATS,
    SIZES,
    Grower,
    Value,
    numbers,
    tensor,
)

EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
FLOAT_UNARY = (
    "ceil",
    "floor",
    "round_nearest_afz",
    "round_nearest_even",
    "sqrt",
    "negate",
    "abs",
    "sign",
)
INTEGER_UNARY = ("not", "popcnt", "count_leading_zeros", "negate")
TRANSCENDENTAL = (
    "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "sine",
    "cosine", "tan", "rsqrt", "cbrt", "erf", "erfc", "asin", "acos", "atan", "asinh", "acosh",
    "atanh", "sinh", "cosh",
)  # fmt: skip
FLOAT_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder")
INTEGER_BINARY = (
    *FLOAT_BINARY, "and", "or", "xor", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "power",
)  # fmt: skip


def _exact(*kinds: str) -> Callable[[Value], bool]:
    return lambda v: v.exact and v.kind in kinds


def unary(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS, *NARROW_FLOATS, *INTEGERS))
    if x is not None:
        names = INTEGER_UNARY if x.kind in INTEGERS else FLOAT_UNARY
        g.emit(g.random.choice(names), [x], (x.shape, x.kind))


def transcendental(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS))
    if x is not None:
        name = g.random.choice(TRANSCENDENTAL)
        g.emit(name, [x], (x.shape, x.kind), exact=False, slack=EPSILON[x.kind] ** 2)


def binary(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS, *NARROW_FLOATS, *INTEGERS, "i1"))
    if x is None:
        return
    names = INTEGER_BINARY if x.kind in INTEGERS else FLOAT_BINARY
    if x.kind == "i1":
        names = ("and", "or", "xor", "maximum", "minimum")
    g.emit(g.random.choice(names), [x, g.like(x)], (x.shape, x.kind))


def compare(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS, *NARROW_FLOATS, *INTEGERS, "i1"))
    if x is not None:
        way = g.random.choice(["EQ", "NE", "LT", "LE", "GT", "GE"])
        attributes = f"comparison_direction = #hlo<comparison_direction {way}>"
        g.emit("compare", [x, g.like(x)], (x.shape, "i1"), attributes=attributes)


def select(g: Grower) -> None:
    x = g.pick(lambda v: v.exact)
    if x is not None:
        p = g.like(Value("", x.shape, "i1"))
        g.emit("select", [p, x, g.like(x)], (x.shape, x.kind))


def clamp(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS, *INTEGERS))
    if x is not None:
        low, high = (g.like(Value("", (), x.kind)) for _ in range(2))
        g.emit("clamp", [low, x, high], (x.shape, x.kind))


def convert(g: Grower) -> None:
    x = g.pick(_exact(*FLOATS, *NARROW_FLOATS, *INTEGERS, "i1"))
    if x is not None:
        to = g.random.choice([*FLOATS, *NARROW_FLOATS, *INTEGERS, "i1"])
        g.emit("convert", [x], (x.shape, to))


def complex_parts(g: Grower) -> None:
    x = g.pick(_exact("f32", "f64", *COMPLEX))
    if x is None:
        return
    if x.kind in COMPLEX:
        g.emit(g.random.choice(["real", "imag"]), [x], (x.shape, x.kind[8:11]))
    else:
        g.emit("complex", [x, g.like(x)], (x.shape, f"complex<{x.kind}>"))


def complex_sum(g: Grower) -> None:
    x = g.pick(_exact(*COMPLEX))
    if x is not None:
        g.emit(g.random.choice(["add", "subtract"]), [x, g.like(x)], (x.shape, x.kind))


def broadcast(g: Grower) -> None:
    x = g.pick(lambda v: len(v.shape) < 4)
    if x is None:
        return
    rank = g.random.randint(len(x.shape), 4)
    dims = sorted(g.random.sample(range(rank), len(x.shape)))
    shape = [g.random.choice(SIZES) for _ in range(rank)]
    for d, n in zip(dims, x.shape, strict=True):
        shape[d] = n if n != 1 else shape[d]
    if prod(shape) <= MOST_ELEMENTS:
        attributes = f"broadcast_dimensions = {numbers(dims)}"
        move(g, "broadcast_in_dim", [x], tuple(shape), attributes)


def move(
    g: Grower, op: str, operands: list[Value], shape: tuple[int, ...], attributes: str
) -> None:
    """Data movement: the result is as exact as its operands."""
    x = operands[0]
    g.emit(
        op,
        operands,
        (shape, x.kind),
        attributes=attributes,
        exact=x.exact,
        tame=x.tame,
        slack=x.slack,
    )


def transpose(g: Grower) -> None:
    x = g.pick(lambda v: len(v.shape) > 1)
    if x is not None:
        order = g.random.sample(range(len(x.shape)), len(x.shape))
        shape = tuple(x.shape[d] for d in order)
        move(g, "transpose", [x], shape, f"permutation = {numbers(order)}")


def reshape(g: Grower) -> None:
    x = g.pick(lambda v: True)
    if x is not None:
        size = prod(x.shape)
        first = g.random.choice([d for d in range(1, size + 1) if size % d == 0] or [1])
        shapes = [(size,), (first, size // first), (1, size // first, 1, first)]
        move(g, "reshape", [x], g.random.choice(shapes), "")


def reverse(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape))
    if x is not None:
        dims = sorted(g.random.sample(range(len(x.shape)), g.random.randint(1, len(x.shape))))
        move(g, "reverse", [x], x.shape, f"dimensions = {numbers(dims)}")


def slice_(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape) and prod(v.shape) > 0)
    if x is None:
        return
    starts = [g.random.randint(0, n - 1) for n in x.shape]
    limits = [
        g.random.randint(s + (g.random.random() > 0.02), n)
        for s, n in zip(starts, x.shape, strict=True)
    ]
    steps = [g.random.choice([1, 1, 2, 3]) for _ in x.shape]
    shape = tuple(-(-(e - s) // k) for s, e, k in zip(starts, limits, steps, strict=True))
    attributes = (
        f"start_indices = {numbers(starts)}, limit_indices = {numbers(limits)}, "
        f"strides = {numbers(steps)}"
    )
    move(g, "slice", [x], shape, attributes)


def pad(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and bool(v.shape) and v.kind != "i1")
    if x is None:
        return
    low, high = ([g.random.choice([0, 0, 1, 3, -1]) for _ in x.shape] for _ in range(2))
    inner = [g.random.choice([0, 0, 0, 1, 2]) for _ in x.shape]
    shape = tuple(
        a + b + n + max(n - 1, 0) * k for a, b, n, k in zip(low, high, x.shape, inner, strict=True)
    )
    if min(shape) >= 0 and prod(shape) <= MOST_ELEMENTS:
        filler = g.like(Value("", (), x.kind), tame=x.tame)
        attributes = (
            f"edge_padding_low = {numbers(low)}, edge_padding_high = {numbers(high)}, "
            f"interior_padding = {numbers(inner)}"
        )
        move(g, "pad", [x, filler], shape, attributes)


def concatenate(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and bool(v.shape))
    if x is None:
        return
    d, parts = g.random.randrange(len(x.shape)), [x]
    for _ in range(g.random.randint(0, 2)):
        parts.append(g.like(x, tame=x.tame))
    shape = list(x.shape)
    shape[d] *= len(parts)
    if prod(shape) <= MOST_ELEMENTS:
        move(g, "concatenate", parts, tuple(shape), f"dimension = {d} : i64")


def dynamic_slice(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape))
    if x is not None:
        kind = g.random.choice(["i32", "i8", "ui8", "i64"])
        starts = [g.like(Value("", (), kind)) for _ in x.shape]
        sizes = tuple(g.random.randint(min(n, 1), n) for n in x.shape)
        move(g, "dynamic_slice", [x, *starts], sizes, f"slice_sizes = {numbers(sizes)}")


def dynamic_update_slice(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and bool(v.shape))
    if x is not None:
        sizes = tuple(g.random.randint(min(n, 1), n) for n in x.shape)
        update = g.like(Value("", sizes, x.kind), tame=x.tame)
        starts = [g.like(Value("", (), "i32")) for _ in x.shape]
        move(g, "dynamic_update_slice", [x, update, *starts], x.shape, "")


def iota(g: Grower) -> None:
    shape = g.shape() or (3,)
    kind = g.random.choice([*FLOATS, "i32", "ui8", "i64"])
    d = g.random.randrange(len(shape))
    g.emit("iota", [], (shape, kind), attributes=f"iota_dimension = {d} : i64")


def _body(op: str, kind: str) -> str:
    t = tensor((), kind)
    return f'{{^bb0(%x: {t}, %y: {t}): %z = hlo.{op} %x, %y : {t} "hlo.return"(%z) : ({t}) -> () }}'


def _fold(g: Grower, accepts: Callable[[Value], bool]) -> tuple[Value, str] | None:
    """An operand and an operation that folds it: sums of floats only of tame values."""
    x = g.pick(lambda v: v.exact and v.kind in (*FLOATS, *INTEGERS, "i1") and accepts(v))
    if x is None:
        return None
    ops = ["maximum", "minimum"]
    if x.kind in INTEGERS:
        ops += ["add", "multiply", "and", "or", "xor"]
    if x.kind in FLOATS and x.tame:
        ops += ["add", "add"]
    return x, g.random.choice(["and", "or"] if x.kind == "i1" else ops)


def _slack(x: Value, op: str, terms: int) -> float:
    return 8.0 * terms * terms * EPSILON[x.kind] if op == "add" and x.kind in FLOATS else 0.0


def reduce(g: Grower) -> None:
    found = _fold(g, lambda v: bool(v.shape))
    if found is None:
        return
    x, op = found
    dims = sorted(g.random.sample(range(len(x.shape)), g.random.randint(1, len(x.shape))))
    shape = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    slack = _slack(x, op, prod(x.shape[d] for d in dims) + 1)
    g.emit(
        "reduce", [x, g.like(Value("", (), x.kind), tame=x.tame)], (shape, x.kind),
        attributes=f"dimensions = {numbers(dims)}", regions=_body(op, x.kind),
        exact=slack == 0, slack=slack,
    )  # fmt: skip


def reduce_window(g: Grower) -> None:
    found = _fold(g, lambda v: 0 < len(v.shape) < 4 and prod(v.shape) > 0)
    if found is None:
        return
    x, op = found
    window = [g.random.choice([1, 2, 3]) for _ in x.shape]
    strides, grow, spread = ([g.random.choice([1, 1, 2]) for _ in x.shape] for _ in range(3))
    pads = [(g.random.choice([0, 1, 2, -1]), g.random.choice([0, 1])) for _ in x.shape]
    shape = []
    for n, w, s, b, d, (low, high) in zip(
        x.shape, window, strides, grow, spread, pads, strict=True
    ):
        room = (n - 1) * b + 1 + low + high - ((w - 1) * d + 1)
        shape.append(room // s + 1 if room >= 0 else 0)
    if min(shape) == 0 or prod(shape) > MOST_ELEMENTS:
        return
    listed = ", ".join(f"[{low}, {high}]" for low, high in pads)
    attributes = (
        f"window_dimensions = {numbers(window)}, window_strides = {numbers(strides)}, "
        f"base_dilations = {numbers(grow)}, window_dilations = {numbers(spread)}, "
        f"padding = dense<[{listed}]> : tensor<{len(pads)}x2xi64>"
    )
    slack = _slack(x, op, prod(window) + 1)
    g.emit(
        "reduce_window", [x, g.like(Value("", (), x.kind), tame=x.tame)], (tuple(shape), x.kind),
        attributes=attributes, regions=_body(op, x.kind), exact=slack == 0, slack=slack,
    )  # fmt: skip


def dot_general(g: Grower) -> None:
    x = g.pick(
        lambda v: v.exact and v.tame and v.kind in (*FLOATS, "i32", "i8") and len(v.shape) > 0
    )
    if x is None:
        return
    contracting, columns = g.random.randrange(len(x.shape)), g.random.choice(SIZES)
    k = x.shape[contracting]
    y = g.like(Value("", g.random.choice([(k, columns), (k,), (columns, k)]), x.kind), tame=True)
    at = len(y.shape) - 1 if y.shape[-1] == k else 0
    if y.shape[at] != k:
        return
    left = [n for d, n in enumerate(x.shape) if d != contracting]
    shape = (*left, *(n for d, n in enumerate(y.shape) if d != at))
    if prod(shape) > MOST_ELEMENTS:
        return
    attributes = (
        f"dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [{contracting}], "
        f"rhs_contracting_dimensions = [{at}]>"
    )
    slack = 64.0 * (k + 1) * EPSILON.get(x.kind, 0.0)
    g.emit(
        "dot_general", [x, y], (shape, x.kind), attributes=attributes, exact=slack == 0, slack=slack
    )


def gather(g: Grower) -> None:
    x = g.pick(lambda v: bool(v.shape) and prod(v.shape) > 0)
    if x is None:
        return
    count = g.random.choice(SIZES)
    indices = g.like(Value("", (count, 1), g.random.choice(["i32", "ui8", "i64"])))
    shape = (count, *x.shape[1:])
    if prod(shape) > MOST_ELEMENTS:
        return
    rest = ", ".join(str(d) for d in range(1, len(x.shape)))
    attributes = (
        f"dimension_numbers = #hlo.gather<offset_dims = [{rest}], collapsed_slice_dims = [0], "
        f"start_index_map = [0], index_vector_dim = 1>, slice_sizes = {numbers([1, *x.shape[1:]])}"
    )
    move(g, "gather", [x, indices], shape, attributes)


def scatter(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and bool(v.shape))
    if x is None:
        return
    count = g.random.choice(SIZES)
    indices = g.like(Value("", (count, 1), g.random.choice(["i32", "ui8"])))
    update = g.like(Value("", (count, *x.shape[1:]), x.kind))
    rest = ", ".join(str(d) for d in range(1, len(x.shape)))
    attributes = (
        f"scatter_dimension_numbers = #hlo.scatter<update_window_dims = [{rest}], "
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    )
    op = g.random.choice(["add", "maximum", "xor"])
    g.emit(
        "scatter", [x, indices, update], (x.shape, x.kind), attributes=attributes,
        regions=_body(op, x.kind),
    )  # fmt: skip


def sort(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in INTEGERS and bool(v.shape))
    if x is None:
        return
    d, y = g.random.randrange(len(x.shape)), g.like(x)
    t, way = tensor((), x.kind), g.random.choice(["LT", "GT"])
    region = (
        f"{{^bb0(%p: {t}, %q: {t}, %r: {t}, %s: {t}): "
        f'%z = "hlo.compare"(%p, %q) {{comparison_direction = #hlo<comparison_direction {way}>}} : '
        f'({t}, {t}) -> tensor<i1> "hlo.return"(%z) : (tensor<i1>) -> () }}'
    )
    attributes = f"dimension = {d} : i64, is_stable = true"
    g.emit(
        "sort", [x, y], (x.shape, x.kind), (x.shape, x.kind), attributes=attributes, regions=region
    )


def conditional(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in (*INTEGERS, *FLOATS))
    if x is None:
        return
    y, p = g.like(x), g.like(Value("", (), "i1"))
    op, t = g.random.choice(["add", "subtract", "maximum"]), x.type
    regions = (
        f'{{ %z = hlo.{op} {x.name}, {y.name} : {t} "hlo.return"(%z) : ({t}) -> () }}, '
        f'{{ "hlo.return"({y.name}) : ({t}) -> () }}'
    )
    g.emit("if", [p], (x.shape, x.kind), regions=regions)


def loop(g: Grower) -> None:
    x = g.pick(lambda v: v.exact and v.kind in (*INTEGERS, "f32", "f64"))
    if x is None:
        return
    y, trips, t, s = g.like(x), g.random.randint(0, 4), x.type, "tensor<i32>"
    zero = g.like(Value("", (), "i32"), tame=True)
    op = g.random.choice(["add", "subtract", "maximum"])
    types = f"{s}, {t}, {t}"
    regions = (
        f"{{^bb0(%i: {s}, %p: {t}, %q: {t}): %n = hlo.constant dense<{trips}> : {s} "
        '%c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : '
        f'({s}, {s}) -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> () }}, '
        f"{{^bb0(%i: {s}, %p: {t}, %q: {t}): %one = hlo.constant dense<1> : {s} "
        f"%j = hlo.add %i, %one : {s} %r = hlo.{op} %p, {y.name} : {t} "
        f'"hlo.return"(%j, %q, %r) : ({types}) -> () }}'
    )
    results = (((), "i32"), (x.shape, x.kind), (x.shape, x.kind))
    g.emit("while", [zero, x, y], *results, regions=regions)


MAKERS: tuple[Callable[[Grower], None], ...] = (
    compare, select, clamp, convert, complex_parts, complex_sum, broadcast, transpose, reshape,
    reverse, slice_, pad, concatenate, dynamic_slice, dynamic_update_slice, iota, reduce_window,
    dot_general, gather, scatter, sort, conditional, loop,
)  # fmt: skip
