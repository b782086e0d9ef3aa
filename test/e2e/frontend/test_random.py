"""`hlo.random` gives JAX's numbers, bit for bit."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import hlo
from hlo import random as hr

KEY = np.array([0, 42], np.uint32)
JAX_KEY = jax.random.key(42)


def same_bits(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(
        np.ascontiguousarray(found).view(np.uint8), np.ascontiguousarray(expected).view(np.uint8)
    )


@pytest.mark.parametrize("seed", [0, 42, -1, 2**31 - 1, np.int32(7), np.uint8(200)])
def test_key(seed: Any) -> None:
    same_bits(hr.key(seed), jax.random.key_data(jax.random.key(seed)))


def test_key_of_a_traced_seed() -> None:
    same_bits(hlo.jit(hr.key)(np.int32(-5)), jax.random.key_data(jax.random.key(-5)))


def test_key_of_a_large_seed_has_both_halves() -> None:
    np.testing.assert_array_equal(hr.key(2**33 + 5), [2, 5])


@pytest.mark.parametrize("num", [2, 1, 5, (2, 3)])
def test_split(num: Any) -> None:
    same_bits(hr.split(KEY, num), jax.random.key_data(jax.random.split(JAX_KEY, num)))


def test_fold_in() -> None:
    same_bits(hr.fold_in(KEY, 7), jax.random.key_data(jax.random.fold_in(JAX_KEY, 7)))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,), (2, 3, 4)])
def test_bits(shape: tuple[int, ...]) -> None:
    same_bits(hr.bits(KEY, shape), jax.random.bits(JAX_KEY, shape))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_narrow_bits(dtype: Any) -> None:
    same_bits(hr.bits(KEY, (9,), dtype), jax.random.bits(JAX_KEY, (9,), dtype))


def test_wide_bits() -> None:
    with jax.enable_x64(True):
        same_bits(hr.bits(KEY, (9,), np.uint64), jax.random.bits(JAX_KEY, (9,), np.uint64))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_uniform(dtype: str) -> None:
    same_bits(hr.uniform(KEY, (99,), dtype), jax.random.uniform(JAX_KEY, (99,), dtype))
    # XLA contracts the scaling into a fused multiply-add, so a range costs it one rounding less.
    found = hr.uniform(KEY, (99,), dtype, -2.0, 3.0).astype(np.float32)
    expected = np.asarray(jax.random.uniform(JAX_KEY, (99,), dtype, -2.0, 3.0), np.float32)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if dtype == "float32" else 2e-2)


def test_normal() -> None:
    found = hlo.jit(lambda key: hr.normal(key, (4, 999)))(KEY)
    expected = np.asarray(jax.random.normal(JAX_KEY, (4, 999)))
    # The uniform numbers are the same; the inverse of erf is a polynomial of several roundings.
    np.testing.assert_array_max_ulp(found, expected, 16)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 10, "int32"), (-5, 7, "int32"), (0, 256, "uint8"), (3, 3, "int32"), (-128, 128, "int8")],
)
def test_randint(low: int, high: int, dtype: str) -> None:
    same_bits(
        hr.randint(KEY, (50,), low, high, dtype),
        jax.random.randint(JAX_KEY, (50,), low, high, dtype),
    )


def test_permutation() -> None:
    same_bits(hr.permutation(KEY, 20), jax.random.permutation(JAX_KEY, 20))
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    same_bits(hr.permutation(KEY, x), jax.random.permutation(JAX_KEY, x))


def test_bernoulli() -> None:
    same_bits(hr.bernoulli(KEY, 0.3, (40,)), jax.random.bernoulli(JAX_KEY, 0.3, (40,)))


def test_categorical() -> None:
    logits = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    same_bits(hr.categorical(KEY, logits), jax.random.categorical(JAX_KEY, logits))


@pytest.mark.parametrize("name", ["exponential", "gumbel", "laplace"])
def test_other_distributions(name: str) -> None:
    found = getattr(hr, name)(KEY, (50,))
    expected = getattr(jax.random, name)(JAX_KEY, (50,))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)


def test_truncated_normal() -> None:
    found = hr.truncated_normal(KEY, -1.0, 2.0, (50,))
    expected = jax.random.truncated_normal(JAX_KEY, -1.0, 2.0, (50,))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_in_a_loop() -> None:
    @hlo.jit
    def walk(key: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            key, place = state
            key, subkey = hr.split(key)
            return (key, place + hr.normal(subkey, (3,))), place

        return hlo.lax.scan(step, (key, np.zeros(3, np.float32)), length=5)[0]

    key, expected = JAX_KEY, np.zeros(3, np.float32)
    for _ in range(5):
        key, subkey = jax.random.split(key)
        expected = expected + np.asarray(jax.random.normal(subkey, (3,)))
    found_key, found = walk(KEY)
    same_bits(found_key, jax.random.key_data(key))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_wrong_key() -> None:
    with pytest.raises(hlo.ShapeError, match=r"expected a key uint32\[2\], found int32\[\]"):
        hlo.jit(lambda: hr.normal(3))()
