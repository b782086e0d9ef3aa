"""Convolutions of 8-bit integers, and of bf16 that may flush subnormals: factors are words."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from core_programs import Program, Value, sample
from test_contractions import convolve

import hlo
from hlo import ir
from hlo.passes.hlo_to_loops import product_factors

NHWC = "b01f 01io b01f"


@dataclass(frozen=True)
class Case:
    """A convolution; `layout` as of `convolve`."""

    layout: str
    data: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = (1, 1)
    pads: tuple[tuple[int, int], ...] = ((1, 1), (1, 1))
    gaps: tuple[int, ...] = (1, 1)
    spread: tuple[int, ...] = (1, 1)
    turned: tuple[bool, ...] = (False, False)

    def convolve(self, p: Program, x: Value, w: Value, kind: str | None = None) -> Value:
        return convolve(
            p, x, w, self.layout, list(self.stride), list(self.pads), list(self.gaps),
            list(self.spread), turned=list(self.turned), kind=kind,
        )  # fmt: skip


CASES = {
    "whole vectors": Case(NHWC, (2, 9, 14, 64), (3, 3, 64, 32)),
    "cut vectors": Case(NHWC, (1, 7, 19, 72), (3, 3, 72, 41)),
    "several panels": Case(NHWC, (1, 9, 15, 8), (2, 3, 8, 130)),
    "cut words": Case(NHWC, (2, 9, 14, 7), (3, 3, 7, 20)),
    "few features": Case(NHWC, (1, 20, 17, 3), (7, 7, 3, 24), stride=(2, 2)),
    "one feature": Case(NHWC, (1, 9, 14, 1), (3, 3, 1, 5)),
    "apart": Case(NHWC, (1, 12, 15, 12), (3, 3, 12, 24), stride=(2, 3), spread=(3, 2)),
    "gaps": Case(NHWC, (1, 6, 9, 12), (4, 4, 12, 24), gaps=(2, 2)),
    "uneven padding": Case(NHWC, (1, 9, 14, 16), (3, 3, 16, 24), pads=((0, 3), (4, 0))),
    "cut off": Case(NHWC, (1, 9, 14, 16), (3, 3, 16, 24), pads=((-1, 2), (1, -2))),
    "turned": Case(NHWC, (1, 9, 14, 16), (3, 2, 16, 24), turned=(True, False)),
    "planes": Case("bf01 oi01 bf01", (1, 20, 8, 11), (33, 20, 3, 3)),
    "few positions": Case(NHWC, (2, 4, 4, 48), (3, 3, 48, 40)),
    "many taps": Case(
        "b0f 0io b0f", (1, 200, 20), (31, 20, 16), (1,), ((15, 15),), (1,), (1,), (False,)
    ),
    "solid": Case(
        "b012f 012io b012f", (1, 5, 6, 9, 12), (3, 2, 3, 12, 20), (1, 1, 2), ((1, 1),) * 3,
        (1, 1, 1), (1, 1, 1), (False,) * 3,
    ),
}  # fmt: skip


AS_LARGE = {
    # Panels of 2 * 3 * 16 * 4 = 384 bytes, and as many results, which are transposed then.
    "the panels": Case("10bf i01o b0f1", (9, 5, 3, 3), (3, 2, 3, 4), pads=((0, 0), (1, 0))),
    "the input": Case(NHWC, (1, 8, 8, 4), (3, 3, 4, 4)),
}


@pytest.mark.parametrize("name", list(AS_LARGE))
def test_results_that_are_as_large_as(name: str) -> None:
    """What other elements still read is not overwritten by a result."""
    p, case, rng = Program(), AS_LARGE[name], np.random.default_rng(0)
    x, w = (
        p.argument(rng.integers(-4, 5, shape).astype(np.int8)) for shape in (case.data, case.kernel)
    )
    y = case.convolve(p, x, w)
    if name == "the input":
        y = case.convolve(p, case.convolve(p, y, w), w)
    p.result(y)
    p.check()


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["i8", "ui8"])
def test_bytes(name: str, kind: str) -> None:
    p, case = Program(), CASES[name]
    info = ir.types.to_dtype(kind)
    rng = np.random.default_rng(0)
    low, high = (-128, 128) if kind == "i8" else (0, 256)
    x, w = (
        p.argument(rng.integers(low, high, shape).astype(info))
        for shape in (case.data, case.kernel)
    )
    y = case.convolve(p, x, w)
    wide = case.convolve(p, x, w, "i32" if kind == "i8" else "ui32")
    p.result(y, p.op("negate", [wide], wide.shape))
    p.check()


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instruction on pairs wherever the processor has it, however long it takes."""
    monkeypatch.setattr(
        product_factors, "is_faster", lambda i: product_factors.has_feature(i.feature)
    )


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("name", list(CASES))
def test_bf16_that_flushes_subnormals(name: str) -> None:
    p, case = Program(), CASES[name]
    x, w = p.sample(case.data, "bf16"), p.sample(case.kernel, "bf16")
    y = case.convolve(p, x, w)
    p.result(y, p.op("negate", [y], y.shape))
    p.check(ulps=2, fast=True)


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_special_values_of_bf16(value: float) -> None:
    p, case = Program(), CASES["whole vectors"]
    data, kernel = sample(case.data, "bf16"), sample(case.kernel, "bf16", 1)
    data[0, 3, 0, 5], kernel[1, 1, 3, 7] = value, value
    p.result(case.convolve(p, p.argument(data), p.argument(kernel)))
    p.check(ulps=2, fast=True)


@pytest.mark.parametrize("ends", [(-128, -128), (-128, 127), (127, 127)])
def test_extreme_bytes(ends: tuple[int, int]) -> None:
    """Sums of 9 * 72 products of 2^14 stay in 32 bits, those of bytes wrap around."""
    p, case = Program(), CASES["cut vectors"]
    x, w = (
        p.argument(np.full(shape, end, np.int8))
        for shape, end in zip((case.data, case.kernel), ends, strict=True)
    )
    y = case.convolve(p, x, w)
    p.result(y, case.convolve(p, x, w, "i32"))
    p.check()


@pytest.mark.parametrize("name", ["whole vectors", "cut words", "planes", "several panels"])
def test_constant_kernels_and_computed_inputs(name: str) -> None:
    p, case = Program(), CASES[name]
    w = sample(case.kernel, "i8", 3)
    text = f'"0x{w.tobytes().hex().upper()}"'
    x = p.sample(case.data, "f32")
    quantised = p.op("convert", [p.op("negate", [x], x.shape)], x.shape, "i8")
    wide = case.convolve(p, quantised, p.constant(text, w.shape, "i8"), "i32")
    p.result(p.op("convert", [wide], wide.shape, "f32"))
    p.check()


ORDERS = ["".join(order) for order in itertools.permutations("b0f")]


@pytest.mark.parametrize("given", ORDERS)
@pytest.mark.parametrize("taps", [1, 3])
def test_every_order_of_dimensions(given: str, taps: int) -> None:
    p = Program()
    data = tuple({"b": 2, "0": 9, "f": 6}[label] for label in given)
    x = p.sample(data, "i8")
    for order in itertools.permutations("0io"):
        shape = tuple({"0": taps, "i": 6, "o": 17}[label] for label in order)
        w = p.sample(shape, "i8")
        layout = f"{given} {''.join(order)} {given}"
        case = Case(layout, data, shape, (2,), ((1, 0),), (1,), (1,), (False,))
        p.result(case.convolve(p, x, w))
    p.check()


def test_bytes_are_words() -> None:
    """One kernel packs, one multiplies; the input's zeros are not in memory."""
    p, case = Program(), Case(NHWC, (1, 30, 30, 32), (3, 3, 32, 64))
    x, w = p.sample(case.data, "i8"), p.sample(case.kernel, "i8")
    p.result(case.convolve(p, x, w, "i32"))
    p.check()
    names = [cost.name for cost in hlo.compile(p.text).cost_analysis().kernels]
    assert len(names) == 2 and not any("pad" in name for name in names)
