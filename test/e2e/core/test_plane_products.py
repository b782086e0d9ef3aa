"""Convolutions of planes by windows of one element, and their gradients by the weights: products
of the planes of one example as they are in memory.
"""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program
from test_convolution_prologues import Case
from test_dot_prologues import kernels_of

CASES = {
    "planes": Case("bf01 oi01 bf01", (1, 20, 18, 17), (33, 20, 1, 1)),
    "kernel's inputs first": Case("bf01 01io bf01", (1, 24, 16, 16), (1, 1, 24, 16)),
    "every other line": Case("bf01 oi01 bf01", (1, 16, 19, 18), (40, 16, 1, 1), stride=(2, 3)),
    "two examples": Case("bf01 oi01 bf01", (2, 20, 18, 17), (33, 20, 1, 1)),
    "columns ahead of lines": Case("bf10 oi01 bf10", (1, 17, 16, 19), (48, 17, 1, 1)),
    "other order behind": Case("bf01 oi01 bf10", (1, 17, 16, 19), (48, 17, 1, 1)),
    "features first": Case("fb01 oi01 fb01", (32, 1, 16, 19), (16, 32, 1, 1)),
    "a line": Case("bf0 oi0 bf0", (1, 64, 301), (80, 64, 1), (1,), (1,), (1,)),
    "small planes": Case("bf01 oi01 bf01", (1, 20, 15, 17), (24, 20, 1, 1)),
    "one position": Case("bf01 oi01 bf01", (1, 64, 1, 1), (32, 64, 1, 1)),
    "few features": Case("bf01 oi01 bf01", (1, 3, 16, 19), (16, 3, 1, 1)),
    "no positions": Case("bf01 oi01 bf01", (1, 20, 0, 9), (16, 20, 1, 1)),
    "in zeros": Case("bf01 oi01 bf01", (1, 20, 15, 18), (24, 20, 1, 1)),
}


def padding(name: str, case: Case) -> list[tuple[int, int]]:
    return [(1, 2) if name == "in zeros" else (0, 0)] * len(case.stride)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_planes(name: str, kind: str) -> None:
    p, case = Program(), CASES[name]
    x, w = p.sample(case.data, kind), p.sample(case.kernel, kind)
    p.result(case.convolve(p, x, w, padding(name, case)))
    p.check(ulps=64)


@pytest.mark.parametrize("name", ["planes", "every other line", "two examples"])
def test_what_surrounds_planes(name: str) -> None:
    """Activated ahead and behind; read a second time as well."""
    p, case = Program(), CASES[name]
    x = p.op("tanh", [p.sample(case.data, "f32")], case.data)
    y = case.convolve(p, x, p.sample(case.kernel, "f32"), padding(name, case))
    p.result(p.op("negate", [y], y.shape), p.op("add", [y, y], y.shape), x)
    p.check(ulps=64)


@pytest.mark.parametrize("value", [np.inf, np.nan, -0.0])
def test_special_values(value: float) -> None:
    p, case = Program(), CASES["planes"]
    x = np.ones(case.data, np.float32)
    x[0, 3, 4, 10], x[0, 0, -1, 0] = value, value
    w = p.sample(case.kernel, "f32")
    p.result(case.convolve(p, p.argument(x), w, padding("planes", case)))
    p.check(ulps=64)


# By the weights, the window is all of the input: labels of input, of the result's gradient and of
# the gradient by the kernel.
GRADIENTS = {
    "planes": Case("fb01 io01 01bf", (1, 64, 16, 17), (1, 96, 16, 17)),
    "PyTorch's kernel": Case("fb01 io01 fb01", (1, 70, 16, 17), (1, 65, 16, 17)),
    "two examples": Case("fb01 io01 01bf", (2, 64, 16, 17), (2, 96, 16, 17)),
    "examples behind": Case("bf01 oi01 01bf", (64, 2, 16, 17), (96, 2, 16, 17)),
    "one in planes": Case("fb01 i01o 01bf", (1, 64, 16, 17), (1, 16, 17, 96)),
    "the other in planes": Case("f01b io01 01bf", (1, 16, 17, 64), (1, 96, 16, 17)),
    "lines exchanged": Case("fb10 io01 01bf", (1, 64, 17, 16), (1, 96, 16, 17)),
    "few features": Case("fb01 io01 01bf", (1, 5, 16, 17), (1, 9, 16, 17)),
}


@pytest.mark.parametrize("name", list(GRADIENTS))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_gradients_by_the_weights(name: str, kind: str) -> None:
    p, case = Program(), GRADIENTS[name]
    x, dy = p.sample(case.data, kind), p.sample(case.kernel, kind)
    p.result(case.convolve(p, x, dy, [(0, 0), (0, 0)]))
    p.check(ulps=64)


def test_nothing_is_turned_around() -> None:
    p, case = Program(), Case("bf01 oi01 bf01", (1, 64, 28, 28), (128, 64, 1, 1))
    x, w = p.sample(case.data, "f32"), p.sample(case.kernel, "f32")
    p.result(case.convolve(p, x, w, [(0, 0), (0, 0)]))
    assert len(kernels_of(p)) == 1
