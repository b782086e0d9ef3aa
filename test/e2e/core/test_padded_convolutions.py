"""Convolutions whose windows reach into padding that is not in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from core_programs import Program
from test_contractions import convolve

from hlo.driver.program_analysis import analyse
from hlo.importers import load_program


@dataclass(frozen=True)
class Case:
    """A convolution; `layout` as of `convolve`."""

    layout: str
    data: tuple[int, ...]
    kernel: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    stride: tuple[int, ...] = (1, 1)
    spread: tuple[int, ...] = (1, 1)
    groups: int = 1


NHWC = "b01f 01io b01f"
CASES = {
    "rows of one tile": Case(NHWC, (1, 9, 9, 5), (3, 3, 5, 32), ((1, 1), (1, 1))),
    "rows of several tiles, the last one cut": Case(
        NHWC, (1, 3, 37, 5), (3, 3, 5, 24), ((1, 1), (1, 1))
    ),
    "rows of several whole tiles": Case(NHWC, (2, 4, 28, 3), (5, 5, 3, 16), ((2, 2), (2, 2))),
    "columns of several tiles": Case(NHWC, (1, 9, 17, 3), (3, 3, 3, 150), ((1, 1), (1, 1))),
    "strides": Case(NHWC, (1, 16, 31, 3), (7, 7, 3, 16), ((3, 3), (2, 3)), stride=(2, 2)),
    "one side alone": Case(NHWC, (1, 12, 12, 4), (3, 3, 4, 20), ((0, 1), (1, 0)), stride=(2, 1)),
    "windows apart": Case(NHWC, (1, 12, 13, 3), (3, 3, 3, 16), ((4, 3), (3, 4)), spread=(3, 4)),
    "taps that meet padding alone": Case(NHWC, (1, 8, 2, 3), (3, 7, 3, 16), ((1, 1), (3, 3))),
    "more padding than window": Case(NHWC, (1, 9, 9, 3), (3, 3, 3, 16), ((5, 4), (4, 6))),
    "padding and cutting off": Case(NHWC, (1, 12, 16, 3), (3, 3, 3, 16), ((-2, 1), (1, -3))),
    "depthwise": Case(NHWC, (1, 15, 30, 40), (3, 3, 1, 40), ((1, 1), (1, 1)), groups=40),
    "depthwise, strides": Case(
        NHWC, (1, 15, 30, 33), (5, 5, 1, 33), ((2, 1), (1, 2)), stride=(2, 2), groups=33
    ),
    "groups": Case(NHWC, (1, 9, 9, 6), (3, 3, 3, 32), ((1, 1), (1, 1)), groups=2),
    "groups of several vectors": Case(
        NHWC, (2, 9, 17, 10), (3, 3, 5, 100), ((1, 1), (1, 1)), groups=2
    ),
    "many groups, strides": Case(
        NHWC, (1, 12, 15, 24), (3, 3, 3, 88), ((1, 2), (0, 1)), stride=(2, 2), groups=8
    ),
    "groups within a vector": Case(
        NHWC, (2, 9, 17, 48), (3, 3, 4, 48), ((1, 1), (1, 1)), groups=12
    ),
    "pairs, strides": Case(
        NHWC, (1, 9, 17, 32), (3, 5, 2, 32), ((1, 1), (2, 2)), stride=(1, 2), groups=16
    ),
    "eights, windows apart": Case(
        NHWC, (1, 9, 17, 64), (3, 3, 8, 64), ((2, 2), (2, 2)), spread=(2, 2), groups=8
    ),
    "groups of planes": Case(
        "bf01 oi01 bf01", (1, 8, 7, 9), (32, 4, 3, 3), ((1, 1), (1, 1)), groups=2
    ),
    "one feature": Case(NHWC, (1, 8, 19, 24), (3, 3, 24, 1), ((1, 1), (1, 1))),
    "a filter": Case(NHWC, (2, 11, 70, 1), (3, 5, 1, 1), ((1, 1), (2, 2)), stride=(2, 1)),
    "a filter of planes, taps apart": Case(
        "bf01 oi01 bf01", (2, 1, 20, 90), (1, 1, 5, 3), ((2, 2), (3, 2)), spread=(1, 3)
    ),
    "a filter of lines": Case("bf0 oi0 bf0", (1, 1, 900), (1, 1, 70), ((40, 29),), (1,), (1,)),
    "a filter across the batch": Case(
        "01bf 01io 01bf", (9, 8, 66, 1), (3, 3, 1, 1), ((1, 1), (0, 1))
    ),
    "features in parts": Case(NHWC, (1, 9, 9, 192), (3, 3, 192, 20), ((1, 1), (1, 1))),
    "features in parts, whole": Case(NHWC, (1, 11, 10, 192), (3, 2, 192, 20), ((0, 0), (0, 0))),
    "features of groups in parts": Case(
        NHWC, (1, 4, 9, 288), (3, 3, 144, 32), ((1, 1), (1, 1)), groups=2
    ),
    "three features": Case(NHWC, (2, 8, 19, 5), (5, 5, 5, 3), ((2, 2), (2, 2)), stride=(1, 2)),
    "rows along the batch": Case(NHWC, (20, 3, 3, 4), (3, 3, 4, 16), ((1, 1), (0, 0))),
    "planes": Case("bf01 oi01 bf01", (2, 3, 9, 20), (16, 3, 3, 3), ((1, 1), (1, 1))),
    "a window as large as the input": Case(
        "f01b i01o 01bf", (9, 6, 7, 4), (9, 6, 7, 17), ((1, 1), (1, 1))
    ),
    "one dimension": Case("b0f 0io b0f", (2, 40, 3), (5, 3, 16), ((2, 2),), (1,), (1,)),
    "three dimensions": Case(
        "b012f 012io b012f", (1, 5, 4, 9, 2), (3, 3, 3, 2, 16), ((1, 1),) * 3, (1,) * 3, (1,) * 3
    ),
}  # fmt: skip


def add_case(p: Program, case: Case, kind: str) -> None:
    """The convolution and something behind it as results of a program."""
    x, w = p.sample(case.data, kind), p.sample(case.kernel, kind)
    y = convolve(
        p, x, w, case.layout, list(case.stride), list(case.pads), [1] * len(case.pads),
        list(case.spread), case.groups,
    )  # fmt: skip
    p.result(p.op("negate", [y], y.shape))


@pytest.mark.parametrize("name", list(CASES))
def test_windows_that_reach_into_padding(name: str) -> None:
    p = Program()
    add_case(p, CASES[name], "f32")
    assert "hlo.pad" not in str(analyse(load_program(p.text)).fused)
    p.check(ulps=32)


@pytest.mark.parametrize("kind", ["f64", "f16", "bf16"])
def test_other_floats(kind: str) -> None:
    p = Program()
    for name in (
        "rows of several tiles, the last one cut", "depthwise, strides", "strides",
        "groups within a vector",
    ):  # fmt: skip
        add_case(p, CASES[name], kind)
    p.check(ulps=32)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_padding_is_multiplied_by_kernels_that_are_not_finite(value: float) -> None:
    """0 times infinity is NaN in padding as it is elsewhere: at the ends of rows and of columns."""
    p = Program()
    for features in (2, 192):
        x = p.sample((1, 9, 8, features), "f32")
        kernel = np.ones((3, 3, features, 16), np.float32)
        kernel[0, 1, features - 1, 3] = value  # above the first row
        kernel[1, 2, 0, 7] = value  # behind the last column
        w = p.argument(kernel)
        p.result(convolve(p, x, w, NHWC, [1, 1], [(1, 1), (1, 1)], [1, 1], [1, 1]))
    p.check(ulps=32)


def test_an_input_that_is_not_finite_stays_out_of_the_padding() -> None:
    p = Program()
    x = p.argument(np.full((1, 4, 6, 2), np.inf, np.float32))
    w = p.argument(np.ones((3, 3, 2, 16), np.float32))
    far = [(3, 3), (3, 3)]  # the outermost windows meet padding alone
    p.result(convolve(p, x, w, NHWC, [1, 1], far, [1, 1], [1, 1]))
    p.check()


@pytest.mark.parametrize(
    ("fill", "other_reader", "absorbed"),
    [("0.0", False, True), ("0.0", True, False), ("1.0", False, False)],
)
def test_a_pad_ahead_of_a_convolution(fill: str, other_reader: bool, absorbed: bool) -> None:
    """Zeros around the input are padding of the convolution, if nothing else reads them."""
    p = Program()
    x, w = p.sample((1, 8, 20, 3), "f32"), p.sample((3, 3, 3, 16), "f32")
    padded = p.op(
        "pad", [x, p.constant(fill, (), "f32")], (1, 9, 22, 3),
        attributes="edge_padding_low = array<i64: 0, 0, 1, 0>, "
        "edge_padding_high = array<i64: 0, 1, 1, 0>, interior_padding = array<i64: 0, 0, 0, 0>",
    )  # fmt: skip
    p.result(convolve(p, padded, w, NHWC, [2, 1], [(0, 0), (1, 0)], [1, 1], [1, 1]))
    if other_reader:
        p.result(p.op("sine", [padded], padded.shape))
    assert ("hlo.pad" not in str(analyse(load_program(p.text)).fused)) == absorbed
    p.check(ulps=32)
