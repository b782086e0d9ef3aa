"""Convolutions whose kernels lie in panels: constants, and kernels packed ahead of many units."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Array, Program, Value, sample
from test_contractions import convolve

import hlo

NHWC = "b01f 01io b01f"
# Layout, input, kernel, stride, distance of taps.
CONSTANT_CASES = {
    "panels": (NHWC, (2, 7, 9, 5), (3, 3, 5, 96), [1, 1], [1, 1]),
    "cut panel": (NHWC, (1, 9, 14, 6), (3, 3, 6, 90), [1, 2], [1, 1]),
    "cut vector": (NHWC, (1, 9, 14, 6), (2, 3, 6, 125), [1, 1], [2, 1]),
    "planes": ("bf01 oi01 bf01", (1, 6, 8, 11), (96, 6, 3, 3), [1, 1], [1, 1]),
    "one dimension": ("b0f 0io b0f", (2, 40, 3), (5, 3, 160), [1], [1]),
    "one panel": (NHWC, (1, 9, 14, 6), (3, 3, 6, 48), [1, 1], [1, 1]),
    "groups": (NHWC, (1, 9, 14, 6), (3, 3, 3, 96), [1, 1], [1, 1]),
}


def constant(p: Program, array: Array, kind: str) -> Value:
    return p.constant(f'"0x{array.tobytes().hex().upper()}"', array.shape, kind)


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("name", list(CONSTANT_CASES))
def test_constant_kernels(name: str, kind: str) -> None:
    layout, data, shape, stride, spread = CONSTANT_CASES[name]
    p = Program()
    kernel = sample(shape, kind, 1)
    kernel.reshape(-1)[3:6] = np.nan, np.inf, -0.0
    w, pads = constant(p, kernel, kind), [(1, 1)] * len(stride)
    groups = 2 if name == "groups" else 1
    y = convolve(
        p, p.sample(data, kind), w, layout, stride, pads, [1] * len(stride), spread, groups
    )
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)


def test_a_constant_kernel_is_in_memory_once() -> None:
    p, kernel = Program(), sample((3, 3, 32, 128), "f32")
    w = constant(p, kernel, "f32")
    pads = [(1, 1), (1, 1)]
    x = p.sample((1, 12, 12, 32), "f32")
    y = convolve(p, x, w, NHWC, [1, 1], pads, [1, 1], [1, 1])
    p.result(y, convolve(p, x, w, NHWC, [2, 2], pads, [1, 1], [1, 1]))
    p.check(ulps=64)
    compiled = hlo.compile(p.text)
    assert compiled.memory_analysis().constant_bytes <= kernel.nbytes + 64


def test_a_constant_kernel_that_is_a_result_too() -> None:
    p = Program()
    w = constant(p, sample((3, 3, 5, 96), "f32"), "f32")
    x = p.sample((1, 9, 9, 5), "f32")
    p.result(convolve(p, x, w, NHWC, [1, 1], [(0, 0), (0, 0)], [1, 1], [1, 1]), w)
    p.check(ulps=64)


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize(("features", "outputs"), [(24, 64), (24, 70), (24, 160)])
def test_kernels_in_another_order_before_many_positions(
    kind: str, features: int, outputs: int
) -> None:
    p = Program()
    x = p.sample((1, 60, 60, features), kind)
    w = p.sample((outputs, features, 3, 3), kind)
    y = convolve(p, x, w, "b01f oi01 b01f", [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1])
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)
    names = [cost.name for cost in hlo.compile(p.text).cost_analysis().kernels]
    assert any("transpose" in name and "convolution" not in name for name in names)


def test_kernels_with_rows_far_apart() -> None:
    """Rows of 1024 features: 16 sets of 16 lines hold 256 of them, and 100 tiles read 384."""
    p = Program()
    x, w = p.sample((1, 1400, 128), "f32"), p.sample((3, 128, 1024), "f32")
    y = convolve(p, x, w, "b0f 0io b0f", [1], [(1, 1)], [1], [1])
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)
    assert len(hlo.compile(p.text).cost_analysis().kernels) == 2


@pytest.mark.parametrize("outputs", [1024, 1032])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_columns_that_work_units_copy(outputs: int, kind: str) -> None:
    """Rows of 64 vectors share few sets of the cache, and 9 tiles or more read each."""
    p = Program()
    kernel = sample((3, 3, 32, outputs), kind, 1)
    kernel.reshape(-1)[-3:] = np.nan, np.inf, -0.0
    w, pads = p.argument(kernel), [(1, 1), (1, 1)]
    y = convolve(p, p.sample((1, 9, 14, 32), kind), w, NHWC, [1, 1], pads, [1, 1], [1, 1])
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)
