"""Numbers divided by one that a loop shares: the bits of a division, in range and out of it."""

from __future__ import annotations

import numpy as np
import pytest

import hlo

ROWS, COLUMNS = 16, 256
FLOATS = (np.float32, np.float64)


def _dividends(dtype: type, rng: np.random.Generator) -> np.ndarray:
    """Of every exponent, around 1, and whole ones; both zeros, infinities and NaN."""
    width = np.dtype(dtype).itemsize
    unsigned = np.dtype(f"u{width}")
    anything = rng.integers(0, np.iinfo(unsigned).max, (ROWS, COLUMNS), unsigned, endpoint=True)
    normal = rng.standard_normal((ROWS, COLUMNS)).astype(dtype)
    whole = rng.integers(-70000, 70000, (ROWS, COLUMNS)).astype(dtype)
    x = np.concatenate([anything.view(dtype), normal, whole], axis=1)
    x[::5, ::7] = -0.0
    x[::7, ::11], x[1::7, ::11] = np.inf, -np.inf
    return x


def _divisors(dtype: type, rng: np.random.Generator) -> list[np.ndarray]:
    """In range, negative, out of range, and those that no reciprocal is good for."""
    around = np.abs(rng.standard_normal(ROWS)).astype(dtype) + dtype(1e-3)
    whole = rng.integers(1, 5000, ROWS).astype(dtype)
    info = np.finfo(dtype)
    odd = np.resize([np.inf, 0.0, -0.0, np.nan, info.tiny / 4, info.max, -3.0, 7.0], ROWS)
    return [around, -around, whole, odd.astype(dtype)]


def _check(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal to the bit, NaN of any kind; but subnormal quotients to their last bit."""
    same = found.view(f"u{found.itemsize}") == wanted.view(f"u{found.itemsize}")
    same |= np.isnan(found) & np.isnan(wanted)
    subnormal = np.abs(wanted) < np.finfo(found.dtype).tiny
    next_to = np.nextafter(found, wanted) == wanted
    same |= subnormal & next_to & (np.signbit(found) == np.signbit(wanted))
    assert same.all(), (found[~same][:4], wanted[~same][:4])


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_by_their_own_numbers(dtype: type) -> None:
    rng = np.random.default_rng(7)
    x, divisors = _dividends(dtype, rng), _divisors(dtype, rng)
    kind = "f32" if dtype is np.float32 else "f64"
    rows = f"tensor<{ROWS}x{x.shape[1]}x{kind}>"
    divided = hlo.compile(f"""
        func.func @main(%x: {rows}, %s: tensor<{ROWS}x{kind}>) -> {rows} {{
          %0 = hlo.broadcast_in_dim %s, dims = [0] : (tensor<{ROWS}x{kind}>) -> {rows}
          %1 = hlo.divide %x, %0 : {rows}
          return %1 : {rows}
        }}
    """)
    for s in divisors:
        with np.errstate(all="ignore"):
            wanted = x / s[:, None]
        _check(divided(x, s)[0], wanted)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("divisor", [3.0, -1.41421354, 1e-30, np.inf])
def test_by_a_constant(dtype: type, divisor: float) -> None:
    x = _dividends(dtype, np.random.default_rng(11))
    kind = "f32" if dtype is np.float32 else "f64"
    rows = f"tensor<{ROWS}x{x.shape[1]}x{kind}>"
    value = dtype(divisor)
    bits = value.view(f"u{value.itemsize}").item()
    divided = hlo.compile(f"""
        func.func @main(%x: {rows}) -> {rows} {{
          %0 = hlo.constant dense<0x{bits:0{2 * value.itemsize}X}> : {rows}
          %1 = hlo.divide %x, %0 : {rows}
          return %1 : {rows}
        }}
    """)
    with np.errstate(all="ignore"):
        _check(divided(x)[0], x / value)


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_that_are_known_to_be_small(dtype: type) -> None:
    """Of which none is looked at: NaN, and what no reciprocal is good for, are divided the same."""
    rng = np.random.default_rng(13)
    x = _dividends(dtype, rng)
    kind = "f32" if dtype is np.float32 else "f64"
    rows = f"tensor<{ROWS}x{x.shape[1]}x{kind}>"
    divided = hlo.compile(f"""
        func.func @main(%x: {rows}, %s: tensor<{ROWS}x{kind}>) -> ({rows}, {rows}, {rows}) {{
          %0 = hlo.broadcast_in_dim %s, dims = [0] : (tensor<{ROWS}x{kind}>) -> {rows}
          %1 = hlo.tanh %x : {rows}
          %2 = hlo.divide %1, %0 : {rows}
          %3 = hlo.constant dense<-3.0> : {rows}
          %4 = hlo.divide %1, %3 : {rows}
          return %1, %2, %4 : {rows}, {rows}, {rows}
        }}
    """)
    for s in _divisors(dtype, rng):
        tanh, by_rows, by_constant = divided(x, s)
        with np.errstate(all="ignore"):
            _check(by_rows, tanh / s[:, None])
            _check(by_constant, tanh / dtype(-3.0))
