"""Convolutions that pack an input computed from others: normalised, activated, dequantised."""

from __future__ import annotations

import numpy as np
import pytest
from core_programs import Program, Value
from test_convolution_prologues import CASES, NHWC, Case
from test_dot_prologues import dequantised, kernels_of, spread

import hlo
from hlo.passes.cost.prologues import PrologueChoice

MORE_CASES = {
    **CASES,
    "lines apart": Case(NHWC, (2, 20, 21, 16), (3, 3, 16, 32), stride=(2, 1), spread=(2, 4)),
    "blocks of a line": Case("b0f 0io b0f", (1, 1500, 64), (5, 64, 32), (1,), (1,), (1,)),
    "few channels": Case(NHWC, (2, 23, 37, 3), (7, 7, 3, 24), stride=(2, 2)),
    "one channel": Case(NHWC, (2, 9, 40, 1), (5, 5, 1, 16)),
    "few channels in planes": Case("bf01 01io b01f", (2, 3, 23, 37), (7, 7, 3, 24), stride=(2, 2)),
    "planes, lines last": Case("bf10 01io b01f", (1, 20, 11, 8), (3, 3, 20, 33)),
    "volumes": Case(
        "b012f 012io b012f", (1, 5, 6, 7, 8), (3, 3, 3, 8, 16), (1, 1, 1), (1, 1, 1), (1, 1, 1)
    ),
    "batches of small images": Case(NHWC, (24, 2, 2, 32), (3, 3, 32, 48)),
    "wide depthwise": Case(NHWC, (2, 30, 40, 70), (7, 7, 1, 70), groups=70),
    "4 KiB apart": Case(NHWC, (1, 9, 14, 1024), (3, 3, 1024, 16)),
    "window beyond the input": Case(NHWC, (1, 2, 3, 16), (5, 6, 16, 16)),
}
# Whose zeros lie between elements are other convolutions by then; their inputs are stored.
ALWAYS_PACKED = [
    name for name, case in MORE_CASES.items()
    if max(case.gaps) == 1 and name not in ("few positions", "window beyond the input")
]  # fmt: skip


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are packed whatever that costs."""
    monkeypatch.setattr(PrologueChoice, "packs", True)


def activated(p: Program, x: Value, dim: int) -> Value:
    """max(x * scale + shift, 1/4), of a scale and a shift for each channel: not 0 of zeros."""
    scale, shift = (p.sample((x.shape[dim],), x.kind) for _ in range(2))
    scaled = p.op("multiply", [x, spread(p, scale, x.shape, dim)], x.shape)
    moved = p.op("add", [scaled, spread(p, shift, x.shape, dim)], x.shape)
    return p.op("maximum", [moved, p.constant("0.25", x.shape, x.kind)], x.shape)


def channel_of(case: Case) -> int:
    return case.layout.split()[0].index("f")


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("name", list(MORE_CASES))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_activated_inputs(name: str, kind: str) -> None:
    p, case = Program(), MORE_CASES[name]
    x, w = p.sample(case.data, kind), p.sample(case.kernel, kind)
    y = case.convolve(p, activated(p, x, channel_of(case)), w)
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("name", list(MORE_CASES))
@pytest.mark.parametrize("stored", ["i8", "ui8", "f16", "f8E4M3FN"])
def test_dequantised_inputs_and_kernels(name: str, stored: str) -> None:
    p, case = Program(), MORE_CASES[name]
    x = dequantised(p, case.data, stored, channel_of(case))
    w = dequantised(p, case.kernel, stored, case.layout.split()[1].index("o"))
    p.result(case.convolve(p, x, w))
    p.check(ulps=64)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("name", ALWAYS_PACKED)
def test_inputs_are_never_in_memory(name: str) -> None:
    p, case = Program(), MORE_CASES[name]
    x = p.op("convert", [p.sample(case.data, "i8")], case.data, "f32")
    p.result(case.convolve(p, x, p.sample(case.kernel, "f32")))
    kernels = hlo.compile(p.text).cost_analysis().kernels
    (convolution,) = [cost for cost in kernels if "convolution" in cost.name]
    floats = 4 * int(np.prod(case.data))
    others = sum(cost.bytes_read for cost in kernels if cost is not convolution)
    assert convolution.bytes_read + others < floats + 3 * 4 * int(np.prod(case.kernel))


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("name", ["whole vectors", "depthwise", "small groups", "few channels"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0])
def test_special_values(name: str, value: float) -> None:
    """Padding is 0 behind what makes the input: 0 times infinity is NaN there as elsewhere."""
    p, case = Program(), MORE_CASES[name]
    x = np.ones(case.data, np.float32)
    x[0, 1, 2, 1], x[0, -1, -1, 0] = value, value
    y = p.op("add", [p.argument(x), p.constant("1.0", case.data, "f32")], case.data)
    kernel = np.ones(case.kernel, np.float32)
    kernel[0, 1, 0, 3], kernel[-1, 2, 0, 7] = value, value
    p.result(case.convolve(p, y, p.argument(kernel)))
    negated = p.op("negate", [p.argument(x)], case.data)
    p.result(case.convolve(p, negated, p.sample(case.kernel, "f32")))
    p.check(ulps=64)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("pads", [[(-1, 2), (0, -2)], [(3, -1), (-2, -1)], [(9, 9), (8, 12)]])
@pytest.mark.parametrize("name", ["whole vectors", "depthwise", "few channels"])
def test_any_padding(name: str, pads: list[tuple[int, int]]) -> None:
    """What lies outside is cut off, and windows may lie in zeros alone."""
    p, case = Program(), MORE_CASES[name]
    x, w = p.sample(case.data, "f32"), p.sample(case.kernel, "f32")
    p.result(case.convolve(p, activated(p, x, 3), w, pads))
    p.check(ulps=64)


@pytest.mark.usefixtures("packed")
def test_an_input_that_others_read_too() -> None:
    """The residual of a block is added behind the convolution that reads it activated."""
    p, case = Program(), MORE_CASES["many positions"]
    same = Case(NHWC, case.data, (3, 3, 8, 8))
    x, pads = p.sample(case.data, "f32"), [(1, 1), (1, 1)]
    y = p.op("exponential", [x], x.shape)
    for _ in range(2):
        z = same.convolve(p, activated(p, y, 3), p.sample(same.kernel, "f32"), pads)
        y = p.op("add", [y, z], y.shape)
    p.result(y)
    p.check(ulps=64)


# Windows of one element are rows of a product: whole tiles and cut ones, several blocks of columns.
POINTWISE = {
    "lines": Case(NHWC, (1, 14, 14, 64), (1, 1, 64, 48)),
    "cut tiles": Case(NHWC, (2, 9, 7, 37), (1, 1, 37, 83)),
    "every other line": Case(NHWC, (1, 15, 12, 32), (1, 1, 32, 40), stride=(2, 3)),
    "many columns": Case(NHWC, (1, 6, 7, 160), (1, 1, 160, 700)),
    "deep": Case(NHWC, (1, 5, 5, 1100), (1, 1, 1100, 24)),
}


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("name", list(POINTWISE))
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i8"])
def test_inputs_of_pointwise_convolutions(name: str, kind: str) -> None:
    p, case, pads = Program(), POINTWISE[name], [(0, 0), (0, 0)]
    x = p.sample(case.data, kind)
    if kind == "i8":
        x = p.op("convert", [x], case.data, "f32")
    w = p.sample(case.kernel, x.kind)
    y = case.convolve(p, activated(p, x, 3), w, pads)
    p.result(p.op("negate", [y], y.shape))
    p.check(ulps=64)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("value", [np.inf, np.nan, -0.0])
def test_special_values_of_pointwise_convolutions(value: float) -> None:
    p, case = Program(), POINTWISE["cut tiles"]
    x = np.ones(case.data, np.float32)
    x[0, 3, 4, 36], x[-1, -1, -1, 0] = value, value
    y = p.op("negate", [p.argument(x)], case.data)
    p.result(case.convolve(p, y, p.sample(case.kernel, "f32"), [(0, 0), (0, 0)]))
    p.check(ulps=64)


def kernels_behind(function: str, data: tuple[int, ...], case: Case) -> list[str]:
    p = Program()
    x = p.op(function, [p.sample(data, "f32")], data)
    p.result(case.convolve(p, x, p.sample(case.kernel, "f32")))
    return kernels_of(p)


def test_what_is_dear_and_packed_often_is_stored() -> None:
    """A depthwise convolution packs its input about once; others once for each run of columns."""
    data = (16, 112, 112, 96)
    assert len(kernels_behind("tanh", data, Case(NHWC, data, (3, 3, 1, 96), groups=96))) == 1
    data = (1, 7, 14, 256)
    assert len(kernels_behind("tanh", data, Case(NHWC, data, (3, 3, 256, 512)))) == 2


def test_what_a_convolution_gives_is_activated_by_its_own_kernel() -> None:
    p = Program()
    x = p.sample((2, 56, 56, 64), "f32")
    for _ in range(2):
        x = activated(p, x, 3)
        case = Case(NHWC, x.shape, (3, 3, 64, 64))
        x = case.convolve(p, x, p.sample(case.kernel, "f32"), [(1, 1), (1, 1)])
    p.result(x)
    first, second = kernels_of(p)
    assert "maximum" in first
    assert second == "convolution"
