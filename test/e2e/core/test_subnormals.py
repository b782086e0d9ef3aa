"""Subnormal numbers: kept by strict programs, flushed to zero by `fast` ones, on all threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax

Array = np.ndarray[Any, Any]

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


VALUES = ("usual", "large", "largest", "tiny", "infinite", "no number")
FOLLOWERS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda p: p,
    "mask": lambda p: hnp.where(hnp.arange(p.shape[-1]) % 5 < 4, p * 2.0, 0.0),
    "scale": lambda p: p * 1e30,
}


def changed(value: Array, how: str) -> Array:
    """Values with what is not to overflow for a power of two."""
    dtype = value.dtype.type
    limits = np.finfo(value.dtype)
    if how in ("large", "tiny"):
        return value * dtype({"large": limits.max / 2**20, "tiny": limits.tiny * 1e2}[how])
    if how != "usual":
        odd = {"largest": limits.max * 0.9, "infinite": np.inf, "no number": np.nan}[how]
        value[:, 3::7] = dtype(odd)
    return value


def assert_sums(
    found: Array, left: Array, right: Array, equation: str, scale: float, size: Array | None = None
) -> None:
    """Sums of products, against those of the same factors in more bits.

    Args:
        scale: of the scores, whose rounding grows with it.
        size: what the left factors' rounding errors are relative to, if not to themselves.
    """
    wide = np.longdouble
    with np.errstate(all="ignore"):
        expected = np.einsum(equation, left.astype(wide), right.astype(wide))
        size = np.abs(left if size is None else size).astype(wide)
        sizes = np.einsum(equation, size, np.abs(right.astype(wide)))
        limits = np.finfo(found.dtype)
        most = limits.eps * max(250.0, 1e4 * scale) * sizes + 10 * limits.smallest_subnormal
        close = np.abs(found - expected) <= most
    same = np.where(np.isfinite(expected), close, found == expected)
    same = np.where(np.isnan(expected), np.isnan(found), same)
    overflows = np.isfinite(sizes) & (sizes > limits.max / 2)  # a sum may, on the way
    assert (same | overflows).all()


@pytest.mark.parametrize(
    "extents",
    [
        (3, 64, 100, 32, 48),
        (1, 48, 64, 16, 64),
        (2, 33, 70, 24, 20),
        (2, 128, 96, 16, 32),
        (5, 1, 50, 16, 40),  # by rows
        (2, 2, 24, 8, 3),  # by elements
    ],
)
@pytest.mark.parametrize(
    ("dtype", "scale", "follower"),
    [
        ("f4", 0.1, "nothing"), ("f4", 10, "nothing"), ("f4", 10, "mask"), ("f4", 10, "scale"),
        ("f8", 80, "nothing"), ("f8", 80, "mask"),
    ],
)  # fmt: skip
def test_attention_raises_probabilities_only_where_sums_stay_finite(
    extents: tuple[int, int, int, int, int], follower: str, dtype: str, scale: float
) -> None:
    """Against the same probabilities, subnormal ones among them, times the values."""
    heads, rows, keys, depth, width = extents
    rng = np.random.default_rng(0)
    query, key, value = (
        rng.standard_normal((heads, n, d)).astype(dtype)
        for n, d in ((rows, depth), (keys, depth), (keys, width))
    )

    def probabilities(q: Array, k: Array) -> Any:
        scores = lax.dot_general(q * q.dtype.type(scale), k, (((2,), (2,)), ((0,), (0,))))
        return FOLLOWERS[follower](hlo.nn.softmax(scores, -1))

    def attention(q: Array, k: Array, v: Array) -> Any:
        return lax.dot_general(probabilities(q, k), v, (((2,), (1,)), ((0,), (0,))))

    weights = np.asarray(hlo.jit(probabilities)(query, key))
    compiled = hlo.jit(attention)
    for values in VALUES:
        given = changed(value.copy(), values)
        found = np.asarray(compiled(query, key, given))
        assert_sums(found, weights, given, "hqk,hkd->hqd", scale)


@pytest.mark.parametrize("extents", [(2, 96, 96, 32, 32), (1, 16, 40, 16, 48)])
@pytest.mark.parametrize(("dtype", "scale"), [("f4", 0.1), ("f4", 10), ("f8", 80)])
def test_gradients_of_attention_are_raised_only_where_sums_stay_finite(
    extents: tuple[int, int, int, int, int], dtype: str, scale: float
) -> None:
    """Against the same gradients of the scores times the operands."""
    heads, rows, keys, depth, width = extents
    batch = ((0,), (0,))

    def inner(q: Any, k: Any, v: Any, g: Any) -> tuple[Any, Any, Any]:
        scores = lax.dot_general(q * q.dtype.type(scale), k, (((2,), (2,)), batch))
        probabilities = hlo.nn.softmax(scores, -1)
        slope = lax.dot_general(g, v, (((2,), (2,)), batch))
        total = (slope * probabilities).sum(-1, keepdims=True)
        sizes = probabilities * (hnp.abs(slope) + hnp.abs(total))
        return probabilities, probabilities * (slope - total), sizes

    def gradients(q: Any, k: Any, v: Any, g: Any) -> Any:
        probabilities, slopes, _ = inner(q, k, v, g)
        return (
            lax.dot_general(slopes, k, (((2,), (1,)), batch)),
            lax.dot_general(slopes, q, (((1,), (1,)), batch)),
            lax.dot_general(probabilities, g, (((1,), (1,)), batch)),
        )

    compiled, parts = hlo.jit(gradients), hlo.jit(inner)
    for number, values in [(n, v) for n in range(4) for v in VALUES[:4]]:
        rng = np.random.default_rng(number)
        operands = [
            rng.standard_normal((heads, n, d)).astype(dtype)
            for n, d in ((rows, depth), (keys, depth), (keys, width), (rows, width))
        ]
        if number >= 2:
            operands[number] = changed(operands[number], values)
        elif values in ("large", "tiny"):  # scores stay as they are
            factor = operands[0].dtype.type({"large": 2.0**60, "tiny": 2.0**-60}[values])
            operands[number] *= factor
            operands[1 - number] /= factor
        query, key, value = (np.asarray(g) for g in compiled(*operands))
        probabilities, slopes, sizes = (np.asarray(x) for x in parts(*operands))
        assert_sums(query, slopes, operands[1], "hqk,hkd->hqd", scale, sizes)
        assert_sums(key, slopes, operands[0], "hqk,hqd->hkd", scale, sizes)
        assert_sums(value, probabilities, operands[3], "hqk,hqd->hkd", scale)
