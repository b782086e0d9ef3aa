"""Updates that are computed of what lies beside them in the tensor they change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from core_programs import Program, Value
from test_data_movement import ints

import hlo


def taken(p: Program, x: Value, starts: Sequence[int], shape: Sequence[int]) -> Value:
    limits = [s + n for s, n in zip(starts, shape, strict=True)]
    fields = (
        f"start_indices = {ints(starts)}, limit_indices = {ints(limits)}, "
        f"strides = {ints([1] * len(shape))}"
    )
    return p.op("slice", [x], shape, attributes=fields)


def stepped(p: Program, x: Value, at: Sequence[int], shape: Sequence[int]) -> Value:
    """`x` with the sum of its corners at a place, which may lie beyond an end."""
    room = [n - m for n, m in zip(x.shape, shape, strict=True)]
    corners = [taken(p, x, corner, shape) for corner in itertools.product(*((0, r) for r in room))]
    total = corners[0]
    for corner in corners[1:]:
        total = p.op("add", [total, corner], shape)
    starts = [p.constant(str(i), (), "i32") for i in at]
    return p.op("dynamic_update_slice", [x, total, *starts], x.shape)


@pytest.mark.parametrize("kind", ["f32", "i8", "f64"])
@pytest.mark.parametrize(
    ("shape", "inside", "at"),
    [
        ((40,), (38,), (1,)),
        ((20, 37), (18, 35), (1, 1)),
        ((20, 37), (20, 30), (3, 50)),
        ((6, 5, 33), (5, 4, 31), (-2, 1, 2)),
        ((9, 4), (5, 4), (9, 0)),
    ],
)
def test_updates_of_neighbours(
    kind: str, shape: tuple[int, ...], inside: tuple[int, ...], at: tuple[int, ...]
) -> None:
    """Twice, the tensor being read afterwards as well, or not."""
    p = Program()
    x, y = p.sample(shape, kind), p.sample(shape, kind)
    once = stepped(p, x, at, inside)
    p.result(once, p.op("add", [x, x], shape), stepped(p, stepped(p, y, at, inside), at, inside))
    p.check(ulps=4)


def test_a_step_on_the_inside_of_a_grid_is_one_kernel() -> None:
    p = Program()
    p.result(stepped(p, p.sample((64, 64), "f32"), (1, 1), (62, 62)))
    assert len(hlo.compile(p.text).cost_analysis().kernels) == 1


def test_steps_of_a_loop() -> None:
    """Heat spreads; the edges stay."""

    def step(u: Any) -> Any:
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return hlo.lax.dynamic_update_slice(u, u[1:-1, 1:-1] + 0.1 * around, (1, 1))

    @hlo.jit
    def spread(u: Any) -> Any:
        return hlo.lax.fori_loop(0, 7, lambda _, v: step(v), u)

    u = np.random.default_rng(0).random((30, 45), np.float32)
    expected = u.copy()
    for _ in range(7):
        inside = expected[1:-1, 1:-1]
        around = expected[2:, 1:-1] + expected[:-2, 1:-1] + expected[1:-1, 2:] + expected[1:-1, :-2]
        expected[1:-1, 1:-1] = inside + np.float32(0.1) * (around - 4 * inside)
    np.testing.assert_allclose(spread(u), expected, rtol=1e-5)
