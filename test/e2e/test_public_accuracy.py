"""Accuracy of the elementwise functions where they are hard: the edges of their range, beside
XLA:CPU's. Ours is never worse than both a few units in the last place and the peer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
import scipy.special
from jax import lax

import hlo

Array = np.ndarray[Any, Any]
GOOD_ULPS = 4.0
COUNT = 2000


def around(*centres: float, width: float = 1e-3) -> Array:
    """Samples near the given points."""
    rng = np.random.default_rng(11)
    each = COUNT // (2 * len(centres))
    return np.concatenate([c + width * (2 * rng.random(each) - 1) for c in centres])


def spread(low: float, high: float) -> Array:
    """Uniform samples of an interval, and magnitudes down to the subnormals inside it."""
    rng = np.random.default_rng(7)
    uniform = low + (high - low) * rng.random(COUNT // 2)
    small = np.exp2(rng.uniform(-140, 0, COUNT // 2)) * rng.choice([-1.0, 1.0], COUNT // 2)
    return np.concatenate([uniform, small[(small >= low) & (small <= high)]])


# name: the function in JAX, the same in float64, and samples.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Array]]] = {
    "cbrt": (jnp.cbrt, np.cbrt, [spread(-1e30, 1e30)]),
    "expm1": (jnp.expm1, np.expm1, [spread(-20, 88)]),
    "log1p": (jnp.log1p, np.log1p, [spread(-0.999, 1e6)]),
    "tan": (jnp.tan, np.tan, [np.concatenate([spread(-1e4, 1e4), around(np.pi / 2, -np.pi / 2)])]),
    "asin": (jnp.arcsin, np.arcsin, [np.concatenate([spread(-1, 1), 1 - around(0) ** 2])]),
    "acos": (jnp.arccos, np.arccos, [np.concatenate([spread(-1, 1), 1 - around(0) ** 2])]),
    "atan": (jnp.arctan, np.arctan, [spread(-1e6, 1e6)]),
    "sinh": (jnp.sinh, np.sinh, [np.concatenate([spread(-88, 88), around(88.9, width=0.4)])]),
    "cosh": (jnp.cosh, np.cosh, [np.concatenate([spread(-88, 88), around(88.9, width=0.4)])]),
    "tanh": (jnp.tanh, np.tanh, [spread(-12, 12)]),
    "asinh": (jnp.arcsinh, np.arcsinh, [spread(-1e30, 1e30)]),
    "acosh": (jnp.arccosh, np.arccosh, [1 + np.abs(spread(0, 1e20))]),
    "atanh": (jnp.arctanh, np.arctanh, [spread(-0.9999, 0.9999)]),
    "exp": (jnp.exp, np.exp, [spread(-100, 88)]),
    "log": (jnp.log, np.log, [np.concatenate([np.abs(spread(0, 1e30)), around(1)])]),
    "sin": (jnp.sin, np.sin, [spread(-1e5, 1e5)]),
    "cos": (jnp.cos, np.cos, [spread(-1e5, 1e5)]),
    "rsqrt": (lax.rsqrt, lambda x: 1 / np.sqrt(x), [np.abs(spread(0, 1e30)) + 1e-37]),
    "logistic": (lax.logistic, scipy.special.expit, [spread(-80, 30)]),
    "erf": (jsp.erf, scipy.special.erf, [spread(-4, 4)]),
    "erfc": (jsp.erfc, scipy.special.erfc, [spread(-4, 9)]),
    "erf_inv": (jsp.erfinv, scipy.special.erfinv, [spread(-0.9999, 0.9999)]),
    "lgamma": (jsp.gammaln, scipy.special.gammaln, [spread(0, 1e6)]),
    "digamma": (jsp.digamma, scipy.special.digamma, [np.abs(spread(1e-3, 1e5)) + 1e-3]),
    "power": (
        jnp.power,
        np.power,
        [np.abs(spread(0.5, 40)) + 1e-3, np.resize(spread(-20, 20), COUNT)[:COUNT]],
    ),
    "atan2": (jnp.arctan2, np.arctan2, [spread(-10, 10), spread(-10, 10)[::-1]]),
    "remainder": (lax.rem, np.fmod, [spread(-1e6, 1e6), spread(0.1, 100)]),
    "hypot": (jnp.hypot, np.hypot, [spread(-1e3, 1e3), spread(-1e3, 1e3)[::-1]]),
}


def worst_ulps(found: Array, exact: Array) -> float:
    """The largest error in units in the last place of f32; infinite where only one is finite."""
    rounded = exact.astype(np.float32)
    unit = np.spacing(np.abs(rounded)).astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(found.astype(np.float64) - exact) / unit
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_a_few_ulps_or_the_peers(name: str) -> None:
    function, exact, samples = FUNCTIONS[name]
    size = min(len(sample) for sample in samples)
    arguments = [sample[:size].astype(np.float32) for sample in samples]
    with np.errstate(all="ignore"):
        expected = exact(*(a.astype(np.float64) for a in arguments))
    ours = hlo.compile(hlo.from_jax(function, *arguments))(*arguments)[0]
    # The peer flushes subnormal operands and results: it is held to the others.
    normal = np.all([np.abs(a) > 1e-37 for a in arguments], axis=0) & (np.abs(expected) > 1e-37)
    theirs = np.asarray(jax.jit(function)(*arguments))
    peer = worst_ulps(theirs[normal], expected[normal])
    assert worst_ulps(ours, expected) <= max(GOOD_ULPS, peer)


@pytest.mark.parametrize("x", [1e-40, 1e-45, 3e-39, 1.1754944e-38])
def test_logarithms_of_subnormals(x: float) -> None:
    value = np.float32(x)
    for function, exact in ((jnp.log, np.log), (jnp.log2, np.log2), (jnp.log10, np.log10)):
        found = hlo.compile(hlo.from_jax(function, value))(value)[0]
        np.testing.assert_allclose(found, exact(np.float64(value)), rtol=1e-6)
