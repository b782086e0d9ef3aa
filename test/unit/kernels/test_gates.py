"""Factors of GELU as functions of their own: which are found, and what they give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_regions import region

import hlo
import hlo.numpy as hnp
from hlo import nn
from hlo.passes.hlo_to_loops import gates
from hlo.passes.hlo_to_loops.elementwise.host_instructions import host_features
from hlo.passes.hlo_to_loops.graph import Region, Tensor, users

CUBIC, LINEAR, HALF_ROOT = np.float32(0.044715), np.float32(math.sqrt(2 / math.pi)), math.sqrt(0.5)
UNIT = 2.0**-24


def _found(body: str, results: str = "%r", count: int = 1, kind: str = "f32") -> list[Tensor]:
    """The results of the gates of a function of %x, with the constants that GELU has."""
    tensor = f"tensor<64x{kind}>"
    constants = {"one": 1.0, "half": 0.5, "cubic": CUBIC, "linear": LINEAR, "two": 2.0}
    listed = "\n".join(
        f"%{name} = hlo.constant dense<{float(value):.9e}> : {tensor}"
        for name, value in constants.items()
    )
    typed = "\n".join(
        f"{line.strip()} : {tensor}" for line in body.strip().splitlines() if line.strip()
    )
    given = ", ".join([tensor] * count)
    found: Region = region(
        f"func.func @main(%x: {tensor}, %y: {tensor}) -> ({given}) {{\n{listed}\n{typed}\n"
        f"return {results} : {given}\n}}"
    )
    readers = users(found.nodes)
    held = (gates._gate_of(n, readers, found.results) for n in found.nodes)  # pyright: ignore[reportPrivateUsage]
    return [gate.result for gate in held if gate is not None]


GELU = """
%0 = hlo.multiply %x, %x
%1 = hlo.multiply %0, %x
%2 = hlo.multiply %1, %cubic
%3 = hlo.add %2, %x
%4 = hlo.multiply %3, %linear
%5 = hlo.tanh %4
%6 = hlo.add %5, %one
"""


def test_a_factor_is_found_with_its_half() -> None:
    (gate,) = _found(GELU + "%7 = hlo.multiply %6, %half\n%r = hlo.multiply %x, %7")
    assert gate.producer is not None and gate.producer.name == "multiply"
    assert gate.producer.operands[0].producer is not None
    assert gate.producer.operands[0].producer.name == "add"


def test_without_a_half_the_sum_is_the_factor() -> None:
    (gate,) = _found(GELU + "%7 = hlo.multiply %x, %half\n%r = hlo.multiply %7, %6")
    assert gate.producer is not None and gate.producer.name == "add"


def test_the_polynomial_may_be_written_otherwise() -> None:
    (gate,) = _found("""
      %0 = hlo.multiply %x, %x
      %1 = hlo.multiply %cubic, %0
      %2 = hlo.add %one, %1
      %3 = hlo.multiply %x, %linear
      %4 = hlo.multiply %3, %2
      %5 = hlo.tanh %4
      %r = hlo.add %one, %5
    """)
    assert gate.producer is not None and gate.producer.name == "add"


def test_a_sum_is_not_taken_apart() -> None:
    """x may be a sum itself, such as that of a dot and a bias."""
    (gate,) = _found("%s = hlo.add %x, %y\n" + GELU.replace("%x", "%s") + "%r = hlo.copy %6")
    assert gate.producer is not None


@pytest.mark.parametrize(
    ("body", "results"),
    [
        pytest.param(GELU + "%r = hlo.multiply %5, %6", "%r", id="tanh is read elsewhere"),
        pytest.param(GELU + "%r = hlo.multiply %x, %6", "%r, %5", id="tanh is a result"),
        pytest.param(GELU.replace("%one", "%two"), "%6", id="another sum"),
        pytest.param(GELU.replace("%linear", "%half"), "%6", id="another factor of x"),
        pytest.param(GELU.replace("%cubic", "%half"), "%6", id="another factor of x**3"),
        pytest.param(GELU.replace("%1, %cubic", "%y, %cubic"), "%6", id="another cube"),
        pytest.param(GELU.replace("add %2, %x", "add %2, %one"), "%6", id="no x"),
        pytest.param(GELU.replace("%0, %x", "%0, %0"), "%6", id="a higher power"),
    ],
)
def test_others_are_left_alone(body: str, results: str) -> None:
    assert not _found(body, results, results.count("%"))


def test_narrow_and_wide_floats_round_what_they_say() -> None:
    for kind in ("bf16", "f16", "f64"):
        assert not _found(GELU, "%6", kind=kind)


def _by_tanh(x: Any, np_: Any = hnp) -> Any:
    return x * 0.5 * (1.0 + np_.tanh(LINEAR * (x + CUBIC * x * x * x)))


def _by_erf(x: Any) -> Any:
    return x * 0.5 * (1.0 + hlo.lax.erf(x * np.float32(HALF_ROOT)))


def _exact(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if function is _by_erf:
            return wide * 0.5 * (1.0 + np.array([math.erf(v * HALF_ROOT) for v in wide]))
        return wide * 0.5 * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))


@pytest.mark.parametrize("function", [_by_tanh, _by_erf, nn.gelu])
@pytest.mark.parametrize("size", [1, 7, 16, 100_003])
def test_the_factor_is_as_precise_as_a_sum_with_one(
    function: Callable[..., Any], size: int
) -> None:
    """The sum's unit is 2**-23 below two: its own rounding, and one of the look-up."""
    x = np.random.default_rng(size).uniform(-9, 9, size).astype(np.float32)
    found = np.asarray(hlo.jit(function)(x)).astype(np.float64)
    assert np.all(np.abs(found - _exact(function, x)) <= 2 * UNIT * np.abs(x))


@pytest.mark.parametrize("function", [_by_tanh, _by_erf, nn.gelu])
def test_corners_are_those_of_the_parts(function: Callable[..., Any]) -> None:
    inf, tiny = np.inf, np.finfo(np.float32).tiny
    x = np.array(
        [0.0, -0.0, inf, -inf, np.nan, tiny, -tiny, 5.7, -5.8, 100, -100, 1e30, -1e30] * 3,
        np.float32,
    )
    found = np.asarray(hlo.jit(function)(x))
    assert np.array_equal(found[:5], np.float32([0.0, -0.0, inf, np.nan, np.nan]), equal_nan=True)
    assert np.array_equal(np.signbit(found[:2]), [False, True])
    assert np.array_equal(found[5:7], x[5:7] / 2)  # subnormal
    assert found[7] == x[7] and found[9] == x[9] and found[11] == x[11]
    for negative in found[[8, 10, 12]]:
        assert negative == 0.0 and np.signbit(negative)


@pytest.mark.parametrize("rows", [1, 5, 64])
def test_behind_a_product(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((rows, 96), (96, 80)))
    bias = rng.standard_normal(80).astype(np.float32)
    found = np.asarray(hlo.jit(lambda x, w, b: nn.gelu(x @ w + b))(x, w, bias))
    wanted = _exact(nn.gelu, (x.astype(np.float64) @ w + bias).astype(np.float32).ravel())
    np.testing.assert_allclose(found.ravel(), wanted, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("shape", [(40, 70), (64, 3), (100, 16)])
def test_in_tiles_and_columns(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 3
    wanted = _exact(nn.gelu, x.ravel()).reshape(shape)
    turned = np.asarray(hlo.jit(lambda x: nn.gelu(hnp.transpose(x)))(x))
    np.testing.assert_allclose(turned, wanted.T, atol=1e-6)
    sums = np.asarray(hlo.jit(lambda x: hnp.sum(nn.gelu(x), axis=0))(x))
    np.testing.assert_allclose(sums, wanted.sum(0), atol=1e-4)


@pytest.mark.skipif("avx512f" not in host_features(), reason="the host has no such look-up")
def test_kernels_use_it() -> None:
    x = np.zeros(4096, np.float32)
    text = hlo.jit(nn.gelu).lower(x).compile().as_text("host")
    assert "vpermi2var" in text
