"""Elementwise operations beyond plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from fuzzing.operations import EPSILON
from fuzzing.programs import COMPLEX, FLOATS, Grower, Value
from hlo.ir.types import to_dtype

SPECIAL_FUNCTIONS = ("erf_inv", "lgamma", "digamma", "bessel_i1e")
COMPLEX_FUNCTIONS = ("exponential", "tanh", "sine", "cosine", "sqrt", "log", "rsqrt", "logistic")
WIDTHS = {"i8": 8, "ui8": 8, "i16": 16, "ui16": 16, "f16": 16, "bf16": 16, "i32": 32, "ui32": 32,
          "f32": 32, "i64": 64, "ui64": 64, "f64": 64}  # fmt: skip


def _accepts(*kinds: str) -> Callable[[Value], bool]:
    return lambda v: v.exact and v.kind in kinds


def classify(g: Grower) -> None:
    """The predicates of floats."""
    x = g.pick(_accepts(*FLOATS))
    if x is not None:
        names = ["is_finite", "is_inf", "is_pos_inf", "is_neg_inf"]
        g.emit(g.random.choice(names), [x], (x.shape, "i1"))


def next_after(g: Grower) -> None:
    x = g.pick(_accepts("f32", "f64", "f16", "bf16"))
    if x is not None:
        g.emit("next_after", [x, g.like(x)], (x.shape, x.kind))


def reduce_precision(g: Grower) -> None:
    x = g.pick(_accepts(*FLOATS))
    if x is not None:
        exponent, mantissa = g.random.choice([(5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (3, 0)])
        attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
        g.emit("reduce_precision", [x], (x.shape, x.kind), attributes=attributes)


def bitcast_convert(g: Grower) -> None:
    """Between types of one width, and of others by a minor dimension."""
    x = g.pick(_accepts(*WIDTHS))
    if x is None:
        return
    to = g.random.choice(list(WIDTHS))
    have, want = WIDTHS[x.kind], WIDTHS[to]
    shape = x.shape
    if have > want:
        shape = (*x.shape, have // want)
    elif have < want:
        if not x.shape or x.shape[-1] != want // have:
            return
        shape = x.shape[:-1]
    if to in FLOATS and x.kind in FLOATS:
        return  # which NaN it is is not compared, so bits of one may not be looked at
    if x.kind in FLOATS and not x.tame:
        return
    g.emit("bitcast_convert", [x], (shape, to))


def special_function(g: Grower) -> None:
    x = g.pick(_accepts("f32", "f64"))
    if x is not None:
        name = g.random.choice(SPECIAL_FUNCTIONS)
        # Beside a pole at -n, digamma is as uncertain as n times pi is: the more, the larger it is.
        beside_poles = name == "digamma" and x.kind == "f64"
        slack = (2.0**24 if beside_poles else 2048.0) * EPSILON[x.kind]
        g.emit(name, [x], (x.shape, x.kind), exact=False, slack=slack)


def two_operands(g: Grower) -> None:
    x = g.pick(_accepts("f32", "f64"))
    if x is not None:
        name = g.random.choice(["atan2", "power"])
        slack = EPSILON[x.kind] ** 2
        g.emit(name, [x, g.like(x)], (x.shape, x.kind), exact=False, slack=slack)


def zeta_and_polygamma(g: Grower) -> None:
    """Where they are defined: zeta(x > 1, q > 0), polygamma(whole n >= 0, x > 0)."""
    kind, shape = g.random.choice(["f32", "f64"]), g.shape()
    dtype = to_dtype(kind)
    positive = g.given(g.rng.uniform(0.25, 20.0, shape).astype(dtype), kind, tame=False)
    orders = g.given(g.rng.integers(0, 5, shape).astype(dtype), kind, tame=True)
    above_one = g.given(g.rng.uniform(1.125, 20.0, shape).astype(dtype), kind, tame=False)
    name = g.random.choice(["zeta", "polygamma"])
    operands = [above_one, positive] if name == "zeta" else [orders, positive]
    slack = 2.0**16 * EPSILON[kind]
    g.emit(name, operands, (shape, kind), exact=False, slack=slack)


def square_and_conjugate(g: Grower) -> None:
    x = g.pick(_accepts(*FLOATS, *COMPLEX))
    if x is None:
        return
    if x.kind in COMPLEX:
        g.emit("conj", [x], (x.shape, x.kind))
    else:
        g.emit("square", [x], (x.shape, x.kind))


def high_product(g: Grower) -> None:
    x = g.pick(_accepts("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"))
    if x is not None:
        g.emit("mulhi", [x, g.like(x)], (x.shape, x.kind))


def complex_arithmetic(g: Grower) -> None:
    """Products and functions of complex numbers, on tame ones, where errors are bounded."""
    x = g.pick(lambda v: v.exact and v.kind in COMPLEX and v.tame)
    if x is None:
        kind = g.random.choice(COMPLEX)
        x = g.argument(kind, g.shape(), tame=True)
    slack = 256.0 * EPSILON[x.kind[8:11]]
    name = g.random.choice(["multiply", "abs", "negate", "sign", *COMPLEX_FUNCTIONS])
    if name == "multiply":
        g.emit(name, [x, g.like(x, tame=True)], (x.shape, x.kind), exact=False, slack=slack)
    elif name == "abs":
        g.emit(name, [x], (x.shape, x.kind[8:11]), exact=False, slack=slack)
    else:
        wide = slack * 2.0**10 if name in COMPLEX_FUNCTIONS else slack
        g.emit(name, [x], (x.shape, x.kind), exact=False, slack=wide)


MAKERS: tuple[Callable[[Grower], None], ...] = (
    classify, next_after, reduce_precision, bitcast_convert, special_function, two_operands,
    zeta_and_polygamma, square_and_conjugate, high_product, complex_arithmetic, complex_arithmetic,
)  # fmt: skip
