"""Convolutions that pack a kernel computed from other tensors: dequantised, turned around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from core_programs import Program, Value
from test_contractions import convolve
from test_data_movement import ints
from test_dot_prologues import dequantised, kernels_of

import hlo


@dataclass(frozen=True)
class Case:
    """A convolution; `layout` as of `convolve`."""

    layout: str
    data: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = (1, 1)
    gaps: tuple[int, ...] = (1, 1)
    spread: tuple[int, ...] = (1, 1)
    groups: int = 1

    def convolve(
        self, p: Program, x: Value, w: Value, pads: list[tuple[int, int]] | None = None
    ) -> Value:
        pads = pads or [(1, 2)] * len(self.stride)
        return convolve(
            p, x, w, self.layout, list(self.stride), pads, list(self.gaps), list(self.spread),
            self.groups,
        )  # fmt: skip

    @property
    def spatial(self) -> list[int]:
        """The spatial dimensions of the kernel."""
        return [d for d, label in enumerate(self.layout.split()[1]) if label in "012"]


NHWC = "b01f 01io b01f"
CASES = {
    "whole vectors": Case(NHWC, (2, 9, 14, 16), (3, 3, 16, 64)),
    "cut vectors": Case(NHWC, (1, 7, 19, 5), (3, 3, 5, 41)),
    "many positions": Case(NHWC, (2, 24, 30, 8), (3, 3, 8, 24)),
    "few positions": Case(NHWC, (2, 4, 4, 48), (3, 3, 48, 40)),
    "strided": Case(NHWC, (1, 12, 15, 7), (3, 3, 7, 24), stride=(2, 3)),
    "apart": Case(NHWC, (1, 12, 15, 7), (3, 3, 7, 24), spread=(3, 2)),
    "gaps": Case(NHWC, (1, 6, 9, 12), (4, 4, 12, 24), gaps=(2, 2)),
    "one in a gap": Case(NHWC, (1, 6, 9, 24), (3, 3, 24, 24), gaps=(2, 3)),
    "depthwise": Case(NHWC, (1, 9, 14, 40), (3, 3, 1, 40), groups=40),
    "groups": Case(NHWC, (1, 9, 14, 24), (3, 3, 8, 96), groups=3),
    "small groups": Case(NHWC, (1, 9, 14, 32), (3, 3, 4, 32), groups=8),
    "features exchanged": Case("b01f 01oi b01f", (2, 9, 14, 20), (3, 3, 48, 20)),
    "planes": Case("bf01 oi01 bf01", (1, 20, 8, 11), (33, 20, 3, 3)),
    "planes, exchanged": Case("bf01 io01 bf01", (1, 20, 8, 11), (20, 33, 3, 3)),
    "few features": Case(NHWC, (1, 9, 14, 20), (3, 3, 20, 3)),
    "one dimension": Case("b0f 0io b0f", (2, 40, 12), (5, 12, 36), (1,), (1,), (1,)),
}


def turned(p: Program, w: Value, dims: list[int]) -> Value:
    return p.op("reverse", [w], w.shape, attributes=f"dimensions = {ints(dims)}")


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("stored", ["i8", "ui8", "bf16", "f8E4M3FN"])
def test_dequantised_kernels(name: str, stored: str) -> None:
    p, case = Program(), CASES[name]
    x = p.sample(case.data, "f32")
    w = dequantised(p, case.kernel, stored, case.layout.split()[1].index("o"))
    y = case.convolve(p, x, w)
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_kernels_turned_around(name: str, kind: str) -> None:
    p, case = Program(), CASES[name]
    x, w = p.sample(case.data, kind), p.sample(case.kernel, kind)
    for dims in (case.spatial, case.spatial[-1:]):
        y = case.convolve(p, x, turned(p, w, dims))
        p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)


@pytest.mark.parametrize("name", ["whole vectors", "groups", "planes, exchanged", "few positions"])
def test_turned_kernels_are_not_stored(name: str) -> None:
    p, case = Program(), CASES[name]
    w = p.sample(case.kernel, "f32")
    p.result(case.convolve(p, p.sample(case.data, "f32"), turned(p, w, case.spatial)))
    assert not [n for n in kernels_of(p) if "reverse" in n and "convolution" not in n]


def test_dequantised_kernels_are_never_in_memory() -> None:
    p, case = Program(), Case(NHWC, (1, 12, 12, 128), (3, 3, 128, 256))
    p.result(case.convolve(p, p.sample(case.data, "f32"), dequantised(p, case.kernel, "i8", 3)))
    read = sum(cost.bytes for cost in hlo.compile(p.text).cost_analysis().kernels)
    assert read < 9 * 128 * 256 * 4


@pytest.mark.parametrize("gaps", [(1, 1), (2, 2)])
@pytest.mark.parametrize("value", [np.inf, np.nan, -0.0])
def test_special_values_of_turned_kernels(value: float, gaps: tuple[int, int]) -> None:
    """0 times infinity is NaN in padding and between elements of the input as it is elsewhere."""
    p, case = Program(), Case(NHWC, (1, 5, 6, 12), (3, 3, 12, 24), gaps=gaps)
    x = p.sample(case.data, "f32")
    kernel = np.ones(case.kernel, np.float32)
    kernel[0, 1, 1, 3], kernel[1, 2, 0, 7], kernel[2, 2, 11, 23] = value, value, value
    p.result(case.convolve(p, x, turned(p, p.argument(kernel), [0, 1])))
    p.check(ulps=64)


def test_a_kernel_that_several_convolutions_turn() -> None:
    p, case = Program(), CASES["whole vectors"]
    w = turned(p, p.sample(case.kernel, "f32"), [0, 1])
    p.result(*(case.convolve(p, p.sample(case.data, "f32"), w) for _ in range(2)), w)
    p.check(ulps=64)


def test_one_tensor_as_input_and_turned_kernel() -> None:
    p, case = Program(), Case("f01b i01o 01bf", (4, 5, 5, 16), (4, 5, 5, 16))
    x = p.sample(case.data, "f32")
    p.result(case.convolve(p, x, turned(p, x, [1, 2])))
    p.check(ulps=64)


@pytest.mark.parametrize(("features", "groups"), [(51, 3), (34, 2), (96, 2), (48, 48)])
@pytest.mark.parametrize("batch", [1, 2])
def test_one_position_of_several_groups(features: int, groups: int, batch: int) -> None:
    """Tiles have one row then: the groups, each with columns of its own, are no rows."""
    p = Program()
    x, w = p.sample((batch, 1, 16 * groups), "f32"), p.sample((1, features, 16), "f32")
    p.result(convolve(p, x, w, "b0f 0oi b0f", [1], [(0, 0)], [1], [1], groups))
    p.check(ulps=4)
