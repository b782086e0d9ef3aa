"""Convolutions of many features to few: one product for all taps, and a sum of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program
from test_convolution_prologues import NHWC, Case
from test_dot_prologues import kernels_of

ONE = (1,)
CASES = {
    "image": Case(NHWC, (1, 33, 40, 20), (3, 3, 20, 3)),
    "planes": Case("bf01 oi01 bf01", (2, 16, 20, 41), (2, 16, 3, 3)),
    "planes to lines": Case("bf01 01io b01f", (1, 17, 33, 35), (2, 3, 17, 4)),
    "many taps": Case(NHWC, (1, 40, 41, 16), (9, 9, 16, 3)),
    "taps apart": Case(NHWC, (1, 40, 40, 16), (3, 3, 16, 1), spread=(2, 4)),
    "signal": Case("b0f 0io b0f", (2, 600, 24), (5, 24, 2), ONE, ONE, ONE),
    "volumes": Case(
        "b012f 012io b012f", (1, 8, 12, 14, 16), (2, 3, 2, 16, 5), (1,) * 3, (1,) * 3, (1,) * 3
    ),
    "transposed": Case(NHWC, (1, 40, 40, 32), (4, 4, 32, 3), gaps=(2, 2)),
}


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f16"])
def test_few_features(name: str, kind: str) -> None:
    p, case = Program(), CASES[name]
    y = case.convolve(p, p.sample(case.data, kind), p.sample(case.kernel, kind))
    p.result(p.op("tanh", [y], y.shape))
    assert "convolution" not in " ".join(kernels_of(p))
    p.check(ulps=64)


@pytest.mark.parametrize("value", [np.inf, np.nan, -0.0])
def test_special_values(value: float) -> None:
    """0 times infinity is NaN in padding as elsewhere."""
    p, case = Program(), CASES["image"]
    x, kernel = np.ones(case.data, np.float32), np.ones(case.kernel, np.float32)
    x[0, 3, 4, 5], kernel[0, 2, 7, 1] = value, value
    p.result(case.convolve(p, p.argument(x), p.sample(case.kernel, "f32")))
    p.result(case.convolve(p, p.sample(case.data, "f32"), p.argument(kernel)))
    p.check(ulps=64)
