"""Concatenations of what is dear to compute: narrow pieces are stored before they are joined."""

from __future__ import annotations

import pytest
from core_programs import Program, Value
from test_column_kernels import kernels_of, unary


def joined(p: Program, parts: list[Value], axis: int) -> Value:
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return p.op("concatenate", parts, shape, attributes=f"dimension = {axis} : i64")


def encoding(shape: tuple[int, ...], pieces: int, axis: int, *, dear: bool = True) -> Program:
    """Functions of as many multiples of x, side by side."""
    p = Program()
    x = p.sample(shape, "f32")
    parts, multiple = list[Value](), x
    for k in range(pieces):
        name = ("sine", "cosine")[k % 2] if dear else ("negate", "abs")[k % 2]
        parts.append(unary(p, "negate", unary(p, name, multiple)))
        multiple = p.op("add", [multiple, x], shape)
    p.result(joined(p, parts, axis))
    return p


@pytest.mark.parametrize(
    ("shape", "pieces", "axis", "dear", "kernels"),
    [
        ((500, 3), 12, 1, True, 2),
        ((500, 3, 2), 6, 1, True, 2),
        ((500, 20), 6, 1, True, 2),
        ((500, 32), 4, 0, True, 1),  # a branch tells rows apart
        ((500, 64), 2, 1, True, 1),  # as do two loops of each row
        ((500, 3), 4, 1, False, 1),  # cheap
        ((4, 3), 12, 1, True, 1),  # few
    ],
)
def test_kernels(
    shape: tuple[int, ...], pieces: int, axis: int, *, dear: bool, kernels: int
) -> None:
    p = encoding(shape, pieces, axis, dear=dear)
    assert kernels_of(p) == kernels
    p.check(ulps=4)
