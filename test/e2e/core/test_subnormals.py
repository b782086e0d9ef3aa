"""Subnormal numbers: kept by strict programs, flushed to zero by `fast` ones, on all threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
from hlo import lax

SIZE = 1 << 20  # for several threads
SUBNORMAL = np.float32(2.0**-130)


@pytest.mark.parametrize("fast", [True, False])
def test_products(fast: bool) -> None:
    """The same threads run programs of both kinds in turn."""
    kind_of = f"tensor<{SIZE}xf32>"
    text = f"""func.func @main(%x: {kind_of}, %y: {kind_of}) -> {kind_of} {{
      %0 = hlo.multiply %x, %y : {kind_of}
      return %0 : {kind_of}
    }}"""
    programs = {kind: hlo.compile(text, fast=kind, threads=2) for kind in (fast, not fast)}
    x, y = np.full(SIZE, SUBNORMAL), np.full(SIZE, np.float32(2))
    for _ in range(3):
        for kind, program in programs.items():
            (found,) = program(x, y)
            np.testing.assert_array_equal(found, np.zeros_like(x) if kind else x * 2)


def test_callbacks_keep_them() -> None:
    seen: list[float] = []

    def see(x: np.ndarray) -> np.ndarray:
        seen.append(float(x[0] * np.float32(0.5)))
        return x

    @hlo.jit(fast=True)
    def call(x: np.ndarray) -> object:
        shape = hlo.ShapeDtype((1,), np.float32)
        return hlo.pure_callback(see, shape, x)

    call(np.full(1, SUBNORMAL))
    assert seen == [2.0**-131]


def test_attention_whose_probabilities_underflow() -> None:
    """Strict and fast results agree: what is flushed is far below the rest of a row."""
    rng = np.random.default_rng(0)
    query, key, value = (rng.standard_normal((64, 32), np.float32) for _ in range(3))

    def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> object:
        scores = lax.dot_general(20 * q, k, (((1,), (1,)), ((), ())))
        return hlo.nn.softmax(scores, -1) @ v

    strict, fast = (
        np.asarray(hlo.jit(attention, fast=kind)(query, key, value)) for kind in (False, True)
    )
    np.testing.assert_allclose(strict, fast, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("values", ["usual", "large", "largest", "tiny", "infinite", "no number"])
@pytest.mark.parametrize(
    "extents",
    [(3, 64, 100, 32, 48), (1, 48, 64, 16, 64), (2, 33, 70, 24, 20), (6, 256, 96, 32, 32)],
)
@pytest.mark.parametrize("scale", [0.1, 30])
def test_attention_raises_probabilities_only_where_sums_stay_finite(
    values: str, extents: tuple[int, int, int, int, int], scale: float
) -> None:
    """Against the same probabilities, subnormal ones among them, times the values, in f64."""
    heads, rows, keys, depth, width = extents
    rng = np.random.default_rng(0)
    query, key, value = (
        rng.standard_normal((heads, n, d), np.float32)
        for n, d in ((rows, depth), (keys, depth), (keys, width))
    )
    if values in ("large", "tiny"):
        value *= np.float32({"large": 2.0**100, "tiny": 1e-36}[values])
    elif values != "usual":
        odd = {"largest": 3e38, "infinite": np.inf, "no number": np.nan}[values]
        value[:, 3::7] = np.float32(odd)

    def probabilities(q: np.ndarray, k: np.ndarray) -> Any:
        scores = lax.dot_general(q * np.float32(scale), k, (((2,), (2,)), ((0,), (0,))))
        return hlo.nn.softmax(scores, -1)

    def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
        return lax.dot_general(probabilities(q, k), v, (((2,), (1,)), ((0,), (0,))))

    found = np.asarray(hlo.jit(attention)(query, key, value))
    weights = np.asarray(hlo.jit(probabilities)(query, key)).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = np.einsum("hqk,hkd->hqd", weights, value.astype(np.float64))
        sizes = np.einsum("hqk,hkd->hqd", weights, np.abs(value).astype(np.float64))
        close = np.abs(found - expected) <= 3e-5 * sizes + 1e-44
    same = np.where(np.isfinite(expected), close, found.astype(np.float64) == expected)
    assert np.where(np.isnan(expected), np.isnan(found), same).all()
