"""Convolutions over inputs with zeros between their elements: transposed ones, input gradients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from core_programs import Program, Value

FEATURES = 64


def convolution(
    p: Program, x: Value, k: Value, gaps: Sequence[int], padding: Sequence[tuple[int, int]],
    turned: Sequence[bool] | None = None, groups: int = 1,
) -> Value:  # fmt: skip
    """Over the middle dimensions, features last; the kernel is [window..., i, o]."""
    rank = len(gaps)
    spatial = ", ".join(map(str, range(rank)))
    sizes = [
        (n - 1) * gap + 1 + sum(pair) - window + 1
        for n, gap, pair, window in zip(x.shape[1:-1], gaps, padding, k.shape, strict=False)
    ]
    pairs = [list(pair) for pair in padding]
    words = ", ".join(str(bool(t)).lower() for t in turned or [False] * rank)
    return p.op(
        "convolution", [x, k], [x.shape[0], *sizes, k.shape[-1]],
        attributes=f"batch_group_count = 1 : i64, feature_group_count = {groups} : i64, "
        f"dimension_numbers = #hlo.conv<[b, {spatial}, f]x[{spatial}, i, o]->[b, {spatial}, f]>, "
        f"lhs_dilation = array<i64: {', '.join(map(str, gaps))}>, "
        f"padding = dense<{pairs}> : tensor<{rank}x2xi64>, "
        f"window_reversal = array<i1: {words}>",
    )  # fmt: skip


@pytest.mark.parametrize("gap", [2, 3])
def test_lines(gap: int) -> None:
    """Windows from shorter than a gap to several, any padding, also what cuts off the input."""
    p = Program()
    x = p.sample((2, 7, FEATURES), "f32")
    for window in (1, 2, 3, 5):
        k = p.sample((window, FEATURES, 16), "f32")
        for low, high in itertools.product((-2, 0, 1, 4), (-1, 0, 3)):
            for turned in (False, True):
                p.result(convolution(p, x, k, [gap], [(low, high)], [turned]))
    p.check(ulps=4)


@pytest.mark.parametrize("kind", ["f64", "bf16", "i32"])
@pytest.mark.parametrize("gap", [2, 3])
def test_lines_of_other_types(kind: str, gap: int) -> None:
    p = Program()
    x = p.sample((2, 7, FEATURES), kind)
    for window in (2, 5):
        k = p.sample((window, FEATURES, 16), kind)
        for pair, turned in zip([(-2, 3), (1, -1), (4, 0)], [False, True, True], strict=True):
            p.result(convolution(p, x, k, [gap], [pair], [turned]))
    p.check(ulps=4)


@pytest.mark.parametrize("gaps", [(2, 1), (1, 3), (2, 2), (2, 3)])
def test_images(gaps: tuple[int, int]) -> None:
    p = Program()
    x, k = p.sample((2, 5, 6, 32), "f32"), p.sample((3, 4, 32, 8), "f32")
    p.result(convolution(p, x, k, gaps, [(1, 2), (2, 1)]))
    p.result(convolution(p, x, k, gaps, [(2, 2), (3, 0)], [True, False]))
    grouped = p.sample((3, 4, 16, 8), "f32")
    p.result(convolution(p, x, grouped, gaps, [(1, 1), (0, 2)], groups=2))
    p.check(ulps=4)


def test_volumes() -> None:
    p = Program()
    x, k = p.sample((1, 3, 4, 3, 16), "f32"), p.sample((2, 3, 2, 16, 8), "f32")
    p.result(convolution(p, x, k, (2, 1, 2), [(1, 1), (1, 1), (0, 1)]))
    p.check(ulps=4)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_taps_that_meet_zeros(bad: float) -> None:
    """An infinite or NaN tap makes NaN of every result, also of those where it meets zeros."""
    p = Program()
    x = p.sample((1, 6, FEATURES), "f32")
    window = np.ones((4, FEATURES, 16), np.float32)
    window[2, 5, 3] = bad
    k = p.argument(window)
    p.result(convolution(p, x, k, [2], [(2, 2)]))
    p.result(convolution(p, x, k, [2], [(2, 2)], [True]))
    p.check(ulps=4)


@pytest.mark.parametrize("groups", [1, 3])
def test_kernels_of_programs_that_are_not_optimised(groups: int) -> None:
    """Nothing has split the convolution then: the kernel meets the zeros between elements."""
    p = Program()
    x = p.sample((2, 5, 6, 48), "f32")
    k = p.sample((2, 2, 48 // groups, 51), "f32")
    p.result(convolution(p, x, k, (2, 1), [(1, 0), (1, 1)], groups=groups))
    p.result(convolution(p, x, k, (3, 2), [(0, 2), (1, 0)], groups=groups))
    p.check(ulps=4, optimize=False)
