"""Convolutions of 3 x 3 windows in tiles, where floats may round so."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Array, Program, Value, sample
from test_contractions import convolve

import hlo

NHWC = "b01f 01io b01f"
SHAPES = {
    "even": ((1, 12, 16, 96), (3, 3, 96, 128), [(1, 1), (1, 1)]),
    "odd": ((1, 17, 23, 128), (3, 3, 128, 112), [(1, 1), (1, 1)]),
    "batch": ((3, 10, 10, 128), (3, 3, 128, 128), [(1, 1), (1, 1)]),
    "no padding": ((1, 22, 19, 128), (3, 3, 128, 130), [(0, 0), (0, 0)]),
    "uneven padding": ((1, 15, 18, 128), (3, 3, 128, 128), [(0, 3), (4, 0)]),
}


def takes_tiles(p: Program, **options: bool) -> bool:
    """Whether a program multiplies 16 places of tiles."""
    report = hlo.compile(p.text, **options).cost_analysis()
    return not any("convolution" in cost.name for cost in report.kernels)


def constant(p: Program, array: Array) -> Value:
    return p.constant(f'"0x{array.tobytes().hex().upper()}"', array.shape, "f32")


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("is_constant", [False, True])
def test_tiles(name: str, is_constant: bool) -> None:
    data, shape, pads = SHAPES[name]
    if not is_constant:  # whose kernels are transformed each time: more positions share that
        data = (4, *data[1:])
    p = Program()
    kernel = sample(shape, "f32", 1)
    w = constant(p, kernel) if is_constant else p.argument(kernel)
    y = convolve(p, p.sample(data, "f32"), w, NHWC, [1, 1], pads, [1, 1], [1, 1])
    bias = p.sample(y.shape, "f32")
    p.result(p.op("maximum", [p.op("add", [y, bias], y.shape), bias], y.shape))
    p.check(ulps=32, fast=True)
    assert takes_tiles(p, fast=True)


def test_only_where_floats_may_round_so() -> None:
    p, (data, shape, pads) = Program(), SHAPES["even"]
    w = constant(p, sample(shape, "f32"))
    p.result(convolve(p, p.sample(data, "f32"), w, NHWC, [1, 1], pads, [1, 1], [1, 1]))
    assert not takes_tiles(p) and takes_tiles(p, fast=True)


def test_a_constant_kernel_that_is_read_otherwise() -> None:
    p, (data, shape, pads) = Program(), SHAPES["even"]
    w = constant(p, sample(shape, "f32"))
    p.result(convolve(p, p.sample((6, *data[1:]), "f32"), w, NHWC, [1, 1], pads, [1, 1], [1, 1]))
    p.result(w)
    p.check(ulps=32, fast=True)
    assert hlo.compile(p.text, fast=True).memory_analysis().constant_bytes <= 4 * np.prod(shape)


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_no_larger_than_those_of_sums(seed: int) -> None:
    """Compared with sums in f64, relative to the largest result."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1, 28, 28, 128), np.float32)
    kernel = rng.standard_normal((3, 3, 128, 128), np.float32)
    p = Program()
    y = convolve(
        p, p.argument(x), constant(p, kernel), NHWC, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]
    )
    p.result(y)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    exact = sum(
        padded[:, i : i + 28, j : j + 28] @ kernel[i, j].astype(np.float64)
        for i in range(3)
        for j in range(3)
    )
    direct, tiles = (
        np.abs(np.asarray(hlo.compile(p.text, fast=fast)(x)[0]) - exact).max()
        for fast in (False, True)
    )
    assert takes_tiles(p, fast=True) and tiles <= direct
