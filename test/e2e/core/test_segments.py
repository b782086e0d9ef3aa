"""Concatenations and pads along the innermost loop, which is cut where they change."""

from __future__ import annotations

import pytest
from core_programs import Program

KINDS = ["f32", "bf16", "i8", "complex<f32>"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "widths", [(64, 128), (1, 200), (100, 1, 163), (4096, 4096, 3), (5000, 77), (7, 9990, 4200)]
)
@pytest.mark.parametrize("rows", [1, 3, 70])
def test_concatenation_of_columns(kind: str, widths: tuple[int, ...], rows: int) -> None:
    program = Program()
    parts = [program.sample((rows, width), kind) for width in widths]
    shape = rows, sum(widths)
    joined = program.op("concatenate", parts, shape, attributes="dimension = 1 : i64")
    program.result(program.op("add", [joined, program.sample(shape, kind)], shape))
    program.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low, high", [(1, 1), (0, 5), (-3, 7), (64, -64), (-1, -200)])
@pytest.mark.parametrize("width", [300, 5000])
def test_pad_of_columns(kind: str, low: int, high: int, width: int) -> None:
    program = Program()
    operand, filler = program.sample((3, width), kind), program.sample((), kind)
    shape = 3, width + low + high
    attributes = (
        f"edge_padding_low = array<i64: 0, {low}>, edge_padding_high = array<i64: 0, {high}>, "
        "interior_padding = array<i64: 0, 0>"
    )
    program.result(program.op("pad", [operand, filler], shape, attributes=attributes))
    program.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(64, 128, 48), (17, 90, 35), (600, 520, 16)])
def test_concatenation_of_transposes(kind: str, sizes: tuple[int, int, int]) -> None:
    first, second, rows = sizes
    program = Program()
    turned = [
        program.op(
            "transpose", [program.sample((width, rows), kind)], (rows, width),
            attributes="permutation = array<i64: 1, 0>",
        )
        for width in (first, second)
    ]  # fmt: skip
    shape = rows, first + second
    joined = program.op("concatenate", turned, shape, attributes="dimension = 1 : i64")
    program.result(program.op("add", [joined, program.sample(shape, kind)], shape))
    program.check()
