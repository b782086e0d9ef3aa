"""Gradients of convolutions by their weights: sums over all positions, a block at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from core_programs import Program, sample
from test_contractions import convolve

LAYOUT = "f01b i01o 01bf"


@dataclass(frozen=True)
class Case:
    """The input, and the gradient of the result; `spread` is the convolution's stride."""

    data: tuple[int, ...]
    gradient: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    spread: tuple[int, ...] = (1, 1)
    steps: tuple[int, ...] = (1, 1)
    layout: str = LAYOUT


CASES = {
    "whole tiles": Case((32, 14, 14, 16), (32, 14, 14, 32), ((1, 1), (1, 1))),
    "cut tiles": Case((40, 14, 14, 17), (40, 14, 14, 45), ((1, 1), (1, 1))),
    "strided": Case((60, 24, 24, 9), (60, 12, 12, 20), ((0, 1), (0, 1)), (2, 2)),
    "no padding": Case((37, 16, 16, 16), (37, 14, 14, 32), ((0, 0), (0, 0))),
    "one tap: a product": Case((3, 9, 7, 70), (3, 9, 7, 65), ((0, 0), (0, 0))),
    "one tap, few features": Case((3, 9, 7, 20), (3, 9, 7, 33), ((0, 0), (0, 0))),
    "small": Case((4, 9, 9, 17), (4, 9, 9, 45), ((1, 1), (1, 1))),
    "lines in blocks": Case((2, 37, 29, 24), (2, 37, 29, 19), ((1, 1), (1, 1))),
    "a line in blocks": Case((1, 1201, 33), (1, 600, 20), ((1, 0),), (2,), (1,), "f0b i0o 0bf"),
    "results in parts": Case((3, 13, 17, 150), (3, 13, 17, 70), ((1, 1), (1, 1))),
    "columns in few sets": Case((2, 12, 17, 50), (2, 12, 17, 256), ((1, 1), (1, 1))),
    "columns cut in few sets": Case((1, 18, 17, 60), (1, 16, 15, 512), ((0, 0), (0, 0))),
    "windows apart": Case((2, 20, 24, 18), (2, 14, 18, 16), ((0, 0), (0, 0)), (1, 1), (3, 3)),
    "three dimensions": Case(
        (2, 5, 9, 8, 9), (2, 5, 9, 8, 17), ((1, 1),) * 3, (1,) * 3, (1,) * 3, "f012b i012o 012bf"
    ),
    "one feature in": Case((4, 28, 28, 1), (4, 28, 28, 32), ((1, 1), (1, 1))),
    "features as places": Case((2, 31, 30, 3), (2, 15, 15, 64), ((3, 2), (3, 2)), (2, 2)),
    "features as places, cut off": Case((2, 31, 31, 5), (2, 15, 15, 8), ((0, -1), (1, -1)), (2, 2)),
    "features exchanged": Case((2, 20, 21, 33), (2, 20, 21, 5), ((1, 1), (1, 1))),
    "features exchanged, no padding": Case((2, 22, 21, 16), (2, 20, 17, 9), ((0, 0), (0, 0))),
    "planes": Case((2, 20, 30, 29), (29, 30, 2, 40), ((1, 1), (1, 1)), layout="fb01 01io b01f"),
    "one tap, strided": Case((2, 40, 41, 24), (2, 20, 21, 40), ((0, -1), (0, 0)), (2, 2)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_gradients(name: str) -> None:
    case = CASES[name]
    p = Program()
    x, g = p.sample(case.data, "f32"), p.sample(case.gradient, "f32")
    ones = [1] * len(case.pads)
    y = convolve(
        p, x, g, case.layout, list(case.steps), list(case.pads), ones, list(case.spread)
    )  # fmt: skip
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=256)


@pytest.mark.parametrize("features", [16, 256])
def test_computed_operands(features: int) -> None:
    """Of an input and a gradient that the kernel could compute, and weights that it changes."""
    p = Program()
    x, g = p.sample((4, 14, 14, 24), "f32"), p.sample((4, 14, 14, features), "f32")
    mask = p.sample(g.shape, "f32")
    x = p.op("tanh", [x], x.shape)
    g = p.op("multiply", [g, mask], g.shape)
    y = convolve(p, x, g, LAYOUT, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1])
    p.result(p.op("subtract", [p.sample(y.shape, "f32"), y], y.shape))
    p.check(ulps=1024)


def test_what_is_not_finite_meets_the_padding() -> None:
    p = Program()
    for at in ((0, 0, 0), (3, 27, 27), (1, 13, 27)):
        data = sample((4, 28, 28, 24), "f32")
        data[at] = np.inf
        x, g = p.sample((4, 28, 28, 9), "f32"), p.argument(data)
        p.result(convolve(p, x, g, LAYOUT, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]))
    p.check(ulps=256)


def test_small_gradients_side_by_side() -> None:
    """Kernels whose last unit adds up what the others made, in one launch."""
    p = Program()
    for _ in range(3):
        x, g = p.sample((2, 16, 16, 4), "f32"), p.sample((2, 16, 16, 8), "f32")
        p.result(convolve(p, x, g, LAYOUT, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]))
    for threads in (1, 2):
        p.check(ulps=256, threads=threads)


def test_other_floats_and_what_is_not_finite() -> None:
    p = Program()
    for kind in ("f64", "bf16"):
        data = sample((48, 14, 14, 16), kind)
        data[31, 3, 4, 5], data[47, 13, 13, 15] = np.nan, np.inf
        x, g = p.argument(data), p.sample((48, 14, 14, 32), kind)
        p.result(convolve(p, x, g, LAYOUT, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]))
    p.check(ulps=256)


DEPTHWISE = {
    "planes": Case((3, 9, 13, 20), (3, 9, 13, 20), ((1, 1), (1, 1)), layout="fb01 io01 bf01"),
    "strided, cut off": Case(
        (2, 5, 16, 31), (2, 5, 8, 15), ((1, 0), (0, -1)), (2, 2), layout="fb01 io01 bf01"
    ),
    "windows apart, batch inside": Case(
        (4, 3, 40), (4, 3, 34), ((0, 0),), (1,), (3,), layout="bf0 oi0 0bf"
    ),
    "one in planes": Case(
        (3, 9, 13, 12), (3, 13, 12, 9), ((1, 1), (1, 1)), layout="fb01 i01o 01bf"
    ),
}


@pytest.mark.parametrize("name", list(DEPTHWISE))
def test_depthwise_gradients(name: str) -> None:
    case = DEPTHWISE[name]
    p = Program()
    x, g = p.sample(case.data, "f32"), p.sample(case.gradient, "f32")
    groups = case.data[case.layout.index("b")]
    y = convolve(
        p, x, g, case.layout, list(case.steps), list(case.pads), [1] * len(case.pads),
        list(case.spread), batches=groups,
    )  # fmt: skip
    p.result(y)
    p.check(ulps=256)
