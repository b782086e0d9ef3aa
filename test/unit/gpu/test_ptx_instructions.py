"""Each instruction of the interpreter against NumPy, on special and random values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_texts import Array, elementwise, run

F16, F32, F64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
BF16 = np.dtype(ml_dtypes.bfloat16)
S8, S16, S32, S64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
U8, U16, U32, U64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3e38]
N = 256


def values(dtype: np.dtype[Any], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = np.array([info.min, info.max, 0, 1, 2, 7, info.max - 1, info.min + 1], dtype)
        some = rng.integers(info.min, info.max, N, dtype, endpoint=True)
        some[:128] = rng.choice(special, 128)
        return some
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = (rng.standard_normal(N) * np.exp(rng.uniform(-8, 8, N))).astype(dtype)
        some[:96] = rng.choice(np.array(SPECIAL), 96).astype(dtype)
    return some


def check(
    instruction: str, sources: list[np.dtype[Any]], result: np.dtype[Any],
    expected: Callable[..., Any],
) -> None:  # fmt: skip
    inputs = [values(dtype, seed) for seed, dtype in enumerate(sources)]
    (found,) = run(
        elementwise(instruction, sources, result), inputs, [np.zeros(N, result)],
        grid=(N // 32, 1, 1),
    )  # fmt: skip
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.asarray(expected(*inputs)).astype(result)
    if result.kind in "iu":
        np.testing.assert_array_equal(found, wanted, err_msg=instruction)
        return
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), err_msg=instruction)
    real = ~np.isnan(wanted)
    unsigned = np.dtype(f"u{result.itemsize}")
    np.testing.assert_array_equal(
        found.view(unsigned)[real], wanted.view(unsigned)[real], err_msg=instruction
    )


def wide(*arrays: Array) -> tuple[Array, ...]:
    return tuple(a.astype(np.float64) for a in arrays)


def python_integers(f: Callable[..., int]) -> Callable[..., Array]:
    def apply(*arrays: Array) -> Array:
        return np.array([f(*map(int, row)) for row in zip(*arrays, strict=True)], object)

    return apply


def wrapped(f: Callable[..., int], bits: int) -> Callable[..., Array]:
    def apply(*arrays: Array) -> Array:
        mask = (1 << bits) - 1
        unsigned = [f(*map(int, row)) & mask for row in zip(*arrays, strict=True)]
        return np.array(unsigned, np.uint64).astype(f"u{bits // 8}").view(f"i{bits // 8}")

    return apply


FLOATS = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_arithmetic_rounds_once(op: str, name: str) -> None:
    f = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    dtype = FLOATS[name]
    exact = f if dtype in (F32, F64) else (lambda a, b: f(*wide(a, b)))
    check(f"{op}.rn.{name} D, A, B;", [dtype, dtype], dtype, exact)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_division_root_and_reciprocal_are_exact(name: str) -> None:
    dtype = FLOATS[name]
    check(f"div.rn.{name} D, A, B;", [dtype, dtype], dtype, np.divide)
    check(f"sqrt.rn.{name} D, A;", [dtype], dtype, np.sqrt)
    check(f"rcp.rn.{name} D, A;", [dtype], dtype, lambda a: dtype.type(1) / a)


def test_fma_of_f32_rounds_once() -> None:
    # Products of two f32 are exact in f64; that the sum is then rounded twice does not show here.
    check("fma.rn.f32 D, A, B, C;", [F32, F32, F32], F32,
          lambda a, b, c: wide(a)[0] * wide(b)[0] + wide(c)[0])  # fmt: skip
    check("fma.rn.f16 D, A, B, C;", [F16, F16, F16], F16,
          lambda a, b, c: wide(a)[0] * wide(b)[0] + wide(c)[0])  # fmt: skip


def test_directed_rounding() -> None:
    def toward(direction: float) -> Callable[[Array, Array], Array]:
        def apply(a: Array, b: Array) -> Array:
            exact = a.astype(np.float64) * b.astype(np.float64)
            near = exact.astype(np.float32)
            past = near.astype(np.float64) > exact if direction < 0 else near < exact
            end = np.nextafter(near, np.float32(direction * np.inf))
            return np.where(past & np.isfinite(exact), end, near)

        return apply

    check("mul.rm.f32 D, A, B;", [F32, F32], F32, toward(-1))
    check("mul.rp.f32 D, A, B;", [F32, F32], F32, toward(1))


def test_saturation_and_flushing() -> None:
    check("add.sat.f32 D, A, B;", [F32, F32], F32,
          lambda a, b: np.clip(np.nan_to_num(a + b, nan=0.0), 0, 1) + 0.0)  # fmt: skip

    def flushed(a: Array) -> Array:
        return np.where(np.abs(a) < np.finfo(F32).tiny, np.copysign(F32.type(0), a), a)

    check("mul.ftz.f32 D, A, B;", [F32, F32], F32, lambda a, b: flushed(flushed(a) * flushed(b)))


@pytest.mark.parametrize("name", FLOATS)
def test_minimum_takes_the_number_and_the_negative_zero(name: str) -> None:
    dtype = FLOATS[name]

    def smaller(a: Array, b: Array) -> Array:
        least = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.minimum(a, b)))
        return np.where((a == b) & np.signbit(a), a, np.where(a == b, b, least))

    check(f"min.{name} D, A, B;", [dtype, dtype], dtype, smaller)
    if dtype != F64:
        check(f"min.NaN.{name} D, A, B;", [dtype, dtype], dtype,
              lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, smaller(a, b)))  # fmt: skip


@pytest.mark.parametrize(
    ("instruction", "f"),
    [
        ("ex2.approx.f32 D, A;", np.exp2),
        ("lg2.approx.f32 D, A;", np.log2),
        ("sin.approx.f32 D, A;", np.sin),
        ("cos.approx.f32 D, A;", np.cos),
        ("tanh.approx.f32 D, A;", np.tanh),
        ("rsqrt.approx.f32 D, A;", lambda a: 1 / np.sqrt(a)),
    ],
)
def test_approximate_functions_are_computed_accurately(
    instruction: str, f: Callable[[Array], Array]
) -> None:
    check(instruction, [F32], F32, lambda a: f(wide(a)[0]))


INTEGERS = {"s16": S16, "u16": U16, "s32": S32, "u32": U32, "s64": S64, "u64": U64}


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic_wraps(name: str) -> None:
    dtype = INTEGERS[name]
    bits = 8 * dtype.itemsize
    pair = [dtype, dtype]
    check(f"add.{name} D, A, B;", pair, dtype, wrapped(lambda a, b: a + b, bits))
    check(f"sub.{name} D, A, B;", pair, dtype, wrapped(lambda a, b: a - b, bits))
    check(f"mul.lo.{name} D, A, B;", pair, dtype, wrapped(lambda a, b: a * b, bits))
    check(f"mul.hi.{name} D, A, B;", pair, dtype, wrapped(lambda a, b: (a * b) >> bits, bits))
    check(f"min.{name} D, A, B;", pair, dtype, np.minimum)
    check(f"max.{name} D, A, B;", pair, dtype, np.maximum)
    check(f"mad.lo.{name} D, A, B, C;", [*pair, dtype], dtype,
          wrapped(lambda a, b, c: a * b + c, bits))  # fmt: skip

    def quotient(a: int, b: int) -> int:
        return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    check(f"div.{name} D, A, B;", pair, dtype, wrapped(quotient, bits))
    check(f"rem.{name} D, A, B;", pair, dtype,
          wrapped(lambda a, b: a if b == 0 else a - b * quotient(a, b), bits))  # fmt: skip


def test_wide_products() -> None:
    check("mul.wide.s32 D, A, B;", [S32, S32], S64, wrapped(lambda a, b: a * b, 64))
    check("mul.wide.u16 D, A, B;", [U16, U16], U32, wrapped(lambda a, b: a * b, 32))
    check("mad.wide.u32 D, A, B, C;", [U32, U32, U64], U64, wrapped(lambda a, b, c: a * b + c, 64))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_past_the_width(bits: int) -> None:
    unsigned, signed = np.dtype(f"u{bits // 8}"), np.dtype(f"i{bits // 8}")

    def amount(b: int) -> int:
        return min(b, 100)

    check(f"shl.b{bits} D, A, B;", [unsigned, U32], unsigned,
          wrapped(lambda a, b: a << amount(b), bits))  # fmt: skip
    check(f"shr.u{bits} D, A, B;", [unsigned, U32], unsigned,
          wrapped(lambda a, b: a >> amount(b), bits))  # fmt: skip
    check(f"shr.s{bits} D, A, B;", [signed, U32], signed,
          wrapped(lambda a, b: a >> amount(b), bits))  # fmt: skip


def test_bit_fields() -> None:
    check("bfe.u32 D, A, 5, 7;", [U32], U32, lambda a: a >> 5 & 127)
    check("bfe.s32 D, A, 28, 7;", [S32], S32, lambda a: a >> 28)
    check("bfe.s32 D, A, 3, 4;", [S32], S32, lambda a: (a << 25) >> 28)
    check(
        "bfi.b32 D, A, B, 8, 4;",
        [U32, U32],
        U32,
        lambda a, b: b & ~np.uint32(0xF00) | (a & 15) << 8,
    )
    check("popc.b64 D, A;", [U64], U32, python_integers(lambda a: a.bit_count()))
    check("clz.b32 D, A;", [U32], U32, python_integers(lambda a: 32 - a.bit_length()))
    check("clz.b64 D, A;", [U64], U32, python_integers(lambda a: 64 - a.bit_length()))
    check("brev.b32 D, A;", [U32], U32, python_integers(lambda a: int(f"{a:032b}"[::-1], 2)))
    check("prmt.b32 D, A, B, 0x3276;", [U32, U32], U32,
          lambda a, b: (b >> 16 & 0xFF) | (b >> 24 << 8) | (a >> 16 & 0xFF) << 16
          | (a >> 24 << 24))  # fmt: skip
    check("shf.l.wrap.b32 D, A, B, 12;", [U32, U32], U32, lambda a, b: b << 12 | a >> 20)
    check("lop3.b32 D, A, B, C, 0x96;", [U32, U32, U32], U32, lambda a, b, c: a ^ b ^ c)
    check("bfind.u32 D, A;", [U32], U32,
          python_integers(lambda a: a.bit_length() - 1 if a else 0xFFFFFFFF))  # fmt: skip


def saturated(a: Array, to: np.dtype[Any]) -> Array:
    """Float to integer, towards zero, clamped; NaN is 0, or the top bit if either has 64 bits."""
    info = np.iinfo(to)
    top = 1 << 8 * to.itemsize - 1
    nan = top if a.dtype == F64 or to.itemsize == 8 else 0

    def one(x: float) -> int:
        if np.isnan(x):
            return nan if to.kind == "u" or nan == 0 else -top
        return max(info.min, min(info.max, int(x))) if np.isfinite(x) else (
            info.max if x > 0 else info.min
        )  # fmt: skip

    return np.array([one(float(x)) for x in a], object)


@pytest.mark.parametrize("source", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("to", INTEGERS)
def test_floats_to_integers_clamp(source: str, to: str) -> None:
    check(f"cvt.rzi.{to}.{source} D, A;", [FLOATS[source]], INTEGERS[to],
          lambda a: saturated(a, INTEGERS[to]))  # fmt: skip


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("to", ["f32", "f64", "f16", "bf16"])
def test_integers_to_floats_round_once(source: str, to: str) -> None:
    def expected(a: Array) -> Array:
        if to in ("f32", "f64"):
            return np.array([int(x) for x in a], object).astype(FLOATS[to])
        # f16 and bf16 from 64 bits: by way of f64, exact for the values of fewer bits.
        return a.astype(np.float64)

    check(f"cvt.rn.{to}.{source} D, A;", [INTEGERS[source]], FLOATS[to], expected)


def test_narrow_floats() -> None:
    check("cvt.rn.f16.f32 D, A;", [F32], F16, lambda a: a)
    check("cvt.rn.bf16.f32 D, A;", [F32], BF16, lambda a: a)
    check("cvt.f32.f16 D, A;", [F16], F32, lambda a: a)
    check("cvt.f32.bf16 D, A;", [BF16], F32, lambda a: a)
    check("cvt.rn.f16.f64 D, A;", [F64], F16, lambda a: a)
    check("cvt.rn.f32.f64 D, A;", [F64], F32, lambda a: a)
    check("cvt.rni.f32.f32 D, A;", [F32], F32, np.rint)
    check("cvt.rmi.f64.f64 D, A;", [F64], F64, np.floor)


def test_two_floats_in_a_register() -> None:
    def packed(a: Array, b: Array) -> Array:
        high = a.astype(np.float16).view(np.uint16).astype(np.uint32)
        low = b.astype(np.float16).view(np.uint16).astype(np.uint32)
        return np.where(np.isnan(a), 0x7FFF, high) << 16 | np.where(np.isnan(b), 0x7FFF, low)

    check("cvt.rn.f16x2.f32 D, A, B;", [F32, F32], U32, packed)

    def e4m3(a: Array, b: Array) -> Array:
        def one(x: Array) -> Array:
            clamped = np.where(np.isnan(x), x, np.clip(x, -448, 448))
            encoded = clamped.astype(ml_dtypes.float8_e4m3fn).view(np.uint8).astype(np.uint16)
            return np.where(np.isnan(x), 0x7F, encoded)

        return one(a) << 8 | one(b)

    check("cvt.rn.satfinite.e4m3x2.f32 D, A, B;", [F32, F32], U16, e4m3)


@pytest.mark.parametrize("name", ["f16x2", "bf16x2"])
def test_packed_halves(name: str) -> None:
    half = np.dtype(np.float16) if name == "f16x2" else BF16

    def split(x: Array) -> tuple[Array, Array]:
        parts = x.view(np.uint16).reshape(-1, 2).view(half)
        return parts[:, 0].astype(np.float64), parts[:, 1].astype(np.float64)

    def f(a: Array, b: Array, c: Array) -> Array:
        made = [x * y + z for x, y, z in zip(split(a), split(b), split(c), strict=True)]
        encoded = [
            np.where(np.isnan(m), 0x7FFF, m.astype(half).view(np.uint16)).astype(np.uint32)
            for m in made
        ]
        return encoded[0] | encoded[1] << 16

    check(f"fma.rn.{name} D, A, B, C;", [U32, U32, U32], U32, f)


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "bf16", "s32", "u32", "s64", "u16"])
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_comparisons_and_unordered_ones(comparison: str, name: str) -> None:
    dtype = {**FLOATS, **INTEGERS}[name]
    f = COMPARISONS[comparison]

    def ordered(a: Array, b: Array) -> Array:
        nan = np.isnan(a) | np.isnan(b) if dtype.kind not in "iu" else np.zeros(len(a), bool)
        return (f(a, b) & ~nan).astype(np.uint32)

    def unordered(a: Array, b: Array) -> Array:
        return (f(a, b) | np.isnan(a) | np.isnan(b)).astype(np.uint32)

    text = "setp.{}.{} %p1, A, B; selp.b32 D, 1, 0, %p1;"
    check(text.format(comparison, name), [dtype, dtype], U32, ordered)
    if name in FLOATS:
        check(text.format(comparison + "u", name), [dtype, dtype], U32, unordered)


def test_predicates_combine() -> None:
    check("setp.lt.s32 %p1, A, 0; setp.gt.and.s32 %p2|%p3, B, 5, !%p1; selp.b32 D, 1, 0, %p2;",
          [S32, S32], U32, lambda a, b: ((b > 5) & (a >= 0)).astype(np.uint32))  # fmt: skip
    check("setp.lt.s32 %p1, A, 0; setp.gt.or.s32 %p2|%p3, B, 5, %p1; selp.b32 D, 1, 0, %p3;",
          [S32, S32], U32, lambda a, b: (~(b > 5) | (a < 0)).astype(np.uint32))  # fmt: skip
    check("setp.lt.s32 %p1, A, 0; mov.b32 D, 7; @!%p1 mov.b32 D, 9;", [S32], U32,
          lambda a: np.where(a < 0, 7, 9))  # fmt: skip


def test_extended_precision_carries() -> None:
    check("mov.b64 {%r30, %r31}, A; mov.b64 {%r32, %r33}, B; add.cc.u32 %r34, %r30, %r32;"
          " addc.u32 %r35, %r31, %r33; mov.b64 D, {%r34, %r35};", [U64, U64], U64,
          wrapped(lambda a, b: a + b, 64))  # fmt: skip
    check("mov.b64 {%r30, %r31}, A; mov.b64 {%r32, %r33}, B; sub.cc.u32 %r34, %r30, %r32;"
          " subc.u32 %r35, %r31, %r33; mov.b64 D, {%r34, %r35};", [U64, U64], U64,
          wrapped(lambda a, b: a - b, 64))  # fmt: skip
    check("mad.lo.cc.u32 %r30, A, B, C; madc.hi.u32 %r31, A, B, 0; mov.b64 D, {%r30, %r31};",
          [U32, U32, U32], U64, wrapped(lambda a, b, c: a * b + c, 64))  # fmt: skip


@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma"])
def test_pairs_of_f32(op: str) -> None:
    # Small integers: exact, so that packed bits can be compared.
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-99, 99, (N, 2)).astype(np.float32) for _ in range(3))
    f = {"add": a + b, "sub": a - b, "mul": a * b, "fma": a * b + c}[op]
    sources = [a, b, c] if op == "fma" else [a, b]
    text = f"{op}.rn.f32x2 D, {', '.join('ABC'[: len(sources)])};"
    (found,) = run(
        elementwise(text, [U64] * len(sources), U64),
        [x.reshape(-1).view(np.uint64) for x in sources],
        [np.zeros(N, U64)],
        grid=(N // 32, 1, 1),
    )
    np.testing.assert_array_equal(found.view(np.float32).reshape(N, 2), f)
