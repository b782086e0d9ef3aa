"""Rows that a fold computes and a later pass over them reads again."""

from __future__ import annotations

import pytest
from core_programs import Program, Value
from test_data_movement import ints
from test_reductions import reduce


def rows(p: Program, value: Value, shape: tuple[int, ...]) -> Value:
    dims = ints(tuple(range(len(value.shape))))
    return p.op("broadcast_in_dim", [value], shape, None, f"broadcast_dimensions = {dims}")


def softmax(p: Program, x: Value, low: str) -> Value:
    dims = (len(x.shape) - 1,)
    shifted = p.op("subtract", [x, rows(p, reduce(p, x, dims, "maximum", low), x.shape)], x.shape)
    raised = p.op("exponential", [shifted], x.shape)
    return p.op("divide", [raised, rows(p, reduce(p, raised, dims), x.shape)], x.shape)


@pytest.mark.parametrize(
    "shape",
    [(3, 1), (3, 7), (5, 16), (4, 17), (3, 33), (2, 100), (70, 128), (2, 3, 1000), (2, 9001)],
)
@pytest.mark.parametrize(("kind", "low"), [("f32", "0xFF800000"), ("f64", "0xFFF0000000000000"),
                                           ("bf16", "0xFF80"), ("f16", "0xFC00")])  # fmt: skip
def test_softmax(shape: tuple[int, ...], kind: str, low: str) -> None:
    p = Program()
    p.result(softmax(p, p.sample(shape, kind), low))
    p.check(ulps=8)


@pytest.mark.parametrize("shape", [(5, 33), (64, 96), (3, 1027)])
def test_several_rows_are_kept(shape: tuple[int, ...]) -> None:
    """Two dear tensors with folds of their own, one folded twice, and one that is a result."""
    p = Program()
    x = p.sample(shape, "f32")
    waves = p.op("tanh", [x], shape)
    grown = p.op("exponential", [p.op("multiply", [waves, x], shape)], shape)
    total, largest = reduce(p, grown, (1,)), reduce(p, grown, (1,), "maximum")
    mean = reduce(p, waves, (1,))
    first = p.op("divide", [grown, rows(p, total, shape)], shape)
    second = p.op("subtract", [waves, rows(p, mean, shape)], shape)
    third = p.op("multiply", [first, rows(p, largest, shape)], shape)
    p.result(p.op("add", [p.op("add", [first, second], shape), third], shape), grown)
    p.check(ulps=16)


def test_the_input_dies_where_the_row_is_kept() -> None:
    """The softmax of an intermediate may take its memory."""
    p = Program()
    x = p.sample((40, 50), "f32")
    for _ in range(3):
        x = softmax(p, p.op("multiply", [x, x], x.shape), "0xFF800000")
    p.result(x)
    p.check(ulps=16)
