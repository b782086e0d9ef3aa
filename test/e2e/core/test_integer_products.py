"""Products of integers: exact modulo the result's range, with and without dot instructions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from core_programs import Program, Value
from test_contractions import dot

import hlo
from hlo import ir
from hlo.passes.hlo_to_loops import product_factors

# Rows, depth, columns and layouts. 4 divides the depth, or not; 768 bytes are a part of the depth.
LAYOUTS = [(17, 100, 49, "nn"), (17, 100, 49, "nt"), (17, 101, 49, "nt"), (33, 100, 20, "tt")]
PARTS = [(9, 1604, 70, "nn"), (9, 1604, 20, "nt"), (18, 1540, 16, "tn"), (2, 16, 1024, "nn")]


def _extremes(p: Program, shape: tuple[int, ...], kind: str) -> Value:
    """The ends of a type's range, and what lies between."""
    rng = np.random.default_rng(len(p.arguments))
    info = np.iinfo(ir.types.to_dtype(kind))
    values = rng.integers(info.min, info.max, shape, info.dtype, endpoint=True)
    values[rng.random(shape) < 0.3] = info.min
    values[rng.random(shape) < 0.3] = info.max
    return p.argument(values)


def _products(kind: str, result: str, cases: Sequence[tuple[int, int, int, str]]) -> Program:
    p = Program()
    for m, k, n, layout in cases:
        a = _extremes(p, (m, k) if layout[0] == "n" else (k, m), kind)
        b = _extremes(p, (k, n) if layout[1] == "n" else (n, k), kind)
        contract = ([int(layout[0] == "n")], [int(layout[1] == "t")])
        p.result(dot(p, a, b, contract, kind=result))
    return p


@pytest.mark.parametrize(
    ("kind", "result"), [("i8", "i32"), ("ui8", "ui32"), ("i8", "i8"), ("i32", "i32")]
)
def test_layouts_of_integer_products(kind: str, result: str) -> None:
    _products(kind, result, LAYOUTS).check()


@pytest.mark.parametrize(
    ("kind", "result"), [("ui8", "i32"), ("ui8", "ui8"), ("i8", "i64"), ("i16", "i32"),
                         ("ui64", "ui64"), ("i32", "i8")],
)  # fmt: skip
def test_types_of_integer_products(kind: str, result: str) -> None:
    _products(kind, result, LAYOUTS[:1]).check()


@pytest.mark.parametrize("kind", ["i8", "ui8"])
def test_deep_products_of_bytes(kind: str) -> None:
    _products(kind, "i32", PARTS).check()


def test_without_dot_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_factors, "has_feature", lambda _: False)
    program = _products("i8", "i32", LAYOUTS[:2])
    assert "vpdpbusd" not in hlo.compile(program.text).as_text("host")
    program.check()


def test_batches_and_what_follows() -> None:
    """A batch of products of bytes, scaled to floats behind: one kernel."""
    p = Program()
    a, b = _extremes(p, (2, 3, 20, 68), "i8"), _extremes(p, (2, 3, 40, 68), "i8")
    product = dot(p, a, b, ([3], [3]), ([0, 1], [0, 1]), "i32")
    real = p.op("convert", [product], product.shape, "f32")
    scale = p.op(
        "broadcast_in_dim", [p.sample((40,), "f32")], product.shape,
        attributes="broadcast_dimensions = array<i64: 3>",
    )  # fmt: skip
    p.result(p.op("multiply", [real, scale], product.shape))
    assert hlo.compile(p.text).statistics.kernels == 1
    p.check(ulps=1)
