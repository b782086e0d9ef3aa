"""Loop kernels over odd shapes: vectors, their masked rests, several work units, every type."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from core_programs import ALL_TYPES, Program

SIZES = [1, 3, 15, 16, 17, 33, 1000, 4097]


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_add_of_every_type_and_size(kind: str) -> None:
    p = Program()
    for size in SIZES:
        x, y = p.sample((size,), kind), p.sample((size,), kind)
        p.result(p.op("add", [x, y], (size,)))
    p.check()


@pytest.mark.parametrize("kind", ["f32", "bf16", "i8", "i1", "f64", "complex<f32>"])
def test_chain_over_ranks(kind: str) -> None:
    p = Program()
    for shape in [(), (0,), (1,), (3, 17), (2, 1, 33), (1, 3, 1, 5), (2, 3, 2, 3, 5), (5, 0, 7)]:
        x, y = p.sample(shape, kind), p.sample(shape, kind)
        s = p.op("add", [x, y], shape)
        p.result(p.op("multiply", [s, s], shape))
    p.check()


def test_many_work_units() -> None:
    """4097 rows of 33: several threads; 65 x 4097: a row longer than a block."""
    p = Program()
    for shape in [(4097, 33), (65, 4097), (300001,)]:
        x = p.sample(shape, "f32")
        p.result(p.op("negate", [p.op("abs", [x], shape)], shape))
    p.check()


@pytest.mark.parametrize("shape", [(3, 5, 17), (2, 16, 1, 3), (4, 33)])
def test_broadcast_of_every_subset(shape: tuple[int, ...]) -> None:
    p = Program()
    whole = p.sample(shape, "f32")
    for count in range(len(shape) + 1):
        for dims in itertools.combinations(range(len(shape)), count):
            small = p.sample([shape[d] for d in dims], "f32")
            wide = p.op(
                "broadcast_in_dim",
                [small],
                shape,
                attributes=f"broadcast_dimensions = array<i64{': ' if dims else ''}"
                f"{', '.join(map(str, dims))}>",
            )
            p.result(p.op("subtract", [whole, wide], shape))
    p.check()


def test_broadcast_of_dimensions_of_one() -> None:
    p = Program()
    for small, shape in [
        ((1, 5), (3, 5)),
        ((3, 1), (3, 33)),
        ((1, 1, 4), (2, 3, 4)),
        ((2, 1, 4), (2, 17, 4)),
    ]:
        x = p.sample(small, "i32")
        dims = ", ".join(map(str, range(len(shape))))
        wide = p.op(
            "broadcast_in_dim", [x], shape, attributes=f"broadcast_dimensions = array<i64: {dims}>"
        )
        p.result(p.op("add", [wide, wide], shape))
    p.check()


@pytest.mark.parametrize("shape", [(5, 17), (3, 4, 5), (16, 16), (2, 3, 4, 5), (33, 1, 7)])
@pytest.mark.parametrize("kind", ["f32", "i8", "complex<f64>"])
def test_transpose_of_every_order(shape: tuple[int, ...], kind: str) -> None:
    """Alone, and between elementwise ops, which fuse with it."""
    p = Program()
    x = p.sample(shape, kind)
    for order in itertools.permutations(range(len(shape))):
        to = [shape[d] for d in order]
        attributes = f"permutation = array<i64: {', '.join(map(str, order))}>"
        moved = p.op("transpose", [x], to, attributes=attributes)
        early = p.op("transpose", [p.op("add", [x, x], shape)], to, attributes=attributes)
        p.result(moved, p.op("multiply", [early, moved], to))
    p.check()


def test_iota_of_every_dimension_and_type() -> None:
    p = Program()
    for kind in ["i8", "ui8", "i32", "i64", "f16", "bf16", "f32", "f64", "complex<f32>"]:
        for d in range(3):
            i = p.op("iota", [], (3, 5, 17), kind, f"iota_dimension = {d} : i64")
            p.result(p.op("add", [i, i], (3, 5, 17)))
    p.check()


def test_compare_and_select_between_types() -> None:
    p = Program()
    for size, kind in itertools.product([1, 17, 4097], ["f32", "f64", "i8", "ui64", "bf16"]):
        x, y = p.sample((size,), kind), p.sample((size,), kind)
        less = p.op(
            "compare", [x, y], (size,), "i1",
            "comparison_direction = #hlo<comparison_direction LT>",
        )  # fmt: skip
        p.result(p.op("select", [less, x, y], (size,), kind), less)
    p.check()


def test_special_values_go_through_fused_code() -> None:
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 3.4e38, 1.0]
    p = Program()
    x = p.argument(np.array(values * 3, np.float32))
    y = p.argument(np.array(values * 3, np.float32)[::-1].copy())
    for name in ("add", "multiply", "maximum", "minimum", "divide"):
        p.result(p.op(name, [p.op("negate", [x], (27,)), y], (27,)))
    p.check()
