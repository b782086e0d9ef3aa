"""Gradients of convolutions by their weights: sums over a batch, a part of it at a time."""

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
    spread: tuple[int, int] = (1, 1)


# Both operands together take more than 1 MiB.
CASES = {
    "whole tiles": Case((32, 14, 14, 16), (32, 14, 14, 32), ((1, 1), (1, 1))),
    "cut tiles": Case((40, 14, 14, 17), (40, 14, 14, 45), ((1, 1), (1, 1))),
    "strided": Case((60, 24, 24, 9), (60, 12, 12, 20), ((0, 1), (0, 1)), (2, 2)),
    "no padding": Case((37, 16, 16, 16), (37, 14, 14, 32), ((0, 0), (0, 0))),
    "one tap: a product": Case((3, 9, 7, 70), (3, 9, 7, 65), ((0, 0), (0, 0))),
    "one tap, few features": Case((3, 9, 7, 20), (3, 9, 7, 33), ((0, 0), (0, 0))),
    "small": Case((4, 9, 9, 17), (4, 9, 9, 45), ((1, 1), (1, 1))),
}


@pytest.mark.parametrize("name", list(CASES))
def test_gradients(name: str) -> None:
    case = CASES[name]
    p = Program()
    x, g = p.sample(case.data, "f32"), p.sample(case.gradient, "f32")
    y = convolve(
        p, x, g, LAYOUT, [1, 1], list(case.pads), [1, 1], list(case.spread)
    )  # fmt: skip
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=256)


def test_other_floats_and_what_is_not_finite() -> None:
    p = Program()
    for kind in ("f64", "bf16"):
        data = sample((48, 14, 14, 16), kind)
        data[31, 3, 4, 5], data[47, 13, 13, 15] = np.nan, np.inf
        x, g = p.argument(data), p.sample((48, 14, 14, 32), kind)
        p.result(convolve(p, x, g, LAYOUT, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]))
    p.check(ulps=256)
