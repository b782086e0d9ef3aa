"""Traced programs, exported as StableHLO, run on XLA and give the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jaxlib import xla_client
from jaxlib._jax import DeviceList

import hlo
import hlo.numpy as hnp
from hlo import lax

X = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


def run_on_xla(text: str, *arguments: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    device = jax.devices("cpu")[0]
    options = xla_client.CompileOptions()
    program = device.client.compile_and_load(text, DeviceList((device,)), options)
    return [np.asarray(r) for r in program.execute([jax.device_put(a, device) for a in arguments])]


CASES: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: (lax.erf(x), lax.lgamma(x + 5), hnp.sinh(x), hnp.arcsin(x / 9)),
    "loop": lambda x: lax.fori_loop(0, 5, lambda _, c: c @ x * 0.1, x),
    "scan": lambda x: lax.scan(lambda c, row: (c + row @ x, c), x[0], x),
    "cond": lambda x: lax.cond(x[0, 0] > 0, lambda: x * 2, lambda: x - 1),
    "switch": lambda x: lax.switch(
        lax.convert_element_type(x[0, 0], "int32") + 1, [lambda: x, lambda: x * 2, lambda: x * 3]
    ),
    "nested": lambda x: hlo.jit(lambda y: y + x)(x),
    "random": lambda x: hlo.random.uniform(hlo.random.key(1), (4, 4)) + x,
    "sort": lambda x: (hnp.sort(x), hnp.argsort(x, 0), lax.top_k(x, 2)),
    "index": lambda x: (x[np.array([2, 0])], x.at[1:3, ::2].add(1.0), x[x[0, 0].astype(int)]),
    "reduce": lambda x: (hnp.cumsum(x, 1), hnp.argmax(x), hnp.var(x, 0)),
    "einsum": lambda x: hnp.einsum("ij,jk,kl->li", x, x, x),
    "fft": lambda x: hnp.abs(hnp.fft.fft2(x)),
}


@pytest.mark.parametrize("name", CASES)
def test_export(name: str) -> None:
    function = hlo.jit(CASES[name])
    expected = run_on_xla(function.lower(X).as_text("stablehlo"), X)
    found = hlo.tree.leaves(function(X))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
