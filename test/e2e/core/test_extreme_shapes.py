"""Tensors without elements, of many dimensions, of a single one; narrow types in contractions."""

from __future__ import annotations

import pytest
from core_programs import COMPLEX, NARROW_FLOATS, NARROW_INTEGERS, Program, number, reducer
from test_contractions import convolve, dot
from test_data_movement import gather, ints, sliced
from test_reductions import reduce, window


@pytest.mark.parametrize("kind", ["f32", "i1", "complex<f64>"])
def test_no_elements(kind: str) -> None:
    p = Program()
    x, y, filler = p.sample((0, 5), kind), p.sample((3, 5), kind), p.sample((), kind)
    p.result(
        p.op("add", [x, x], (0, 5)),
        p.op("concatenate", [x, y, x], (3, 5), attributes="dimension = 0 : i64"),
        p.op(
            "pad", [x, filler], (3, 5),
            attributes="edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 2, 0>, "
            "interior_padding = array<i64: 0, 0>",
        ),
        p.op("transpose", [x], (5, 0), attributes="permutation = array<i64: 1, 0>"),
        p.op("reshape", [x], (5, 0, 7)),
        p.op("reverse", [x], (0, 5), attributes="dimensions = array<i64: 0, 1>"),
        p.op(
            "broadcast_in_dim", [x], (2, 0, 5),
            attributes="broadcast_dimensions = array<i64: 1, 2>",
        ),
        sliced(p, y, [1, 2], [1, 5], [1, 1]),
        reduce(p, x, (0,)), reduce(p, x, (1,)), reduce(p, x, (0, 1)),
        dot(p, x, x, ([1], [1])), dot(p, x, x, ([0], [0])),
        p.op("select", [p.sample((0, 5), "i1"), x, x], (0, 5), kind),
    )  # fmt: skip
    p.check()


def test_no_windows_and_no_indices() -> None:
    p = Program()
    x = p.sample((2, 3), "f32")
    none = p.sample((0,), "i32")
    p.result(
        gather(
            p, x, none, [0, 3], [1, 3],
            "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
            "index_vector_dim = 1",
        ),
        window(p, x, "add", "0.0", [3, 1], [1, 1], [1, 1], [1, 1], [(0, 0), (0, 0)]),
        window(p, x, "add", "1.0", [1, 1], [1, 1], [1, 1], [1, 1], [(-1, -1), (0, 0)]),
        p.op(
            "scatter", [x, none, p.sample((0, 3), "f32")], (2, 3), None,
            "scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], "
            "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>",
            reducer("add", "f32"),
        ),
        convolve(
            p, p.sample((0, 4, 2), "f32"), p.sample((3, 2, 5), "f32"), "b0f 0io b0f", [1],
            [(0, 0)], [1], [1],
        ),
        convolve(
            p, p.sample((1, 4, 0), "f32"), p.sample((3, 0, 5), "f32"), "b0f 0io b0f", [1],
            [(0, 0)], [1], [1],
        ),
    )  # fmt: skip
    p.check()


@pytest.mark.parametrize("kind", ["f32", "i16"])
def test_many_dimensions(kind: str) -> None:
    p = Program()
    shape = (2, 1, 3, 2, 1, 2, 3, 2)
    x = p.sample(shape, kind)
    order = [7, 3, 0, 5, 2, 6, 1, 4]
    moved = p.op(
        "transpose", [p.op("add", [x, x], shape)], [shape[d] for d in order],
        attributes=f"permutation = {ints(order)}",
    )  # fmt: skip
    wide = p.op(
        "broadcast_in_dim", [p.sample((3, 2), kind)], shape,
        attributes="broadcast_dimensions = array<i64: 2, 7>",
    )  # fmt: skip
    p.result(
        moved, p.op("subtract", [x, wide], shape), reduce(p, x, (0, 2, 5)), reduce(p, x, (1, 3, 7))
    )
    p.check(ulps=4)


@pytest.mark.parametrize("kind", [*NARROW_FLOATS, *NARROW_INTEGERS, *COMPLEX])
def test_contractions_of_narrow_and_complex_types(kind: str) -> None:
    p = Program()
    a, b = p.sample((3, 5), kind), p.sample((5, 17), kind)
    p.result(dot(p, a, b, ([1], [0])))
    if "complex" not in kind:
        # The usual way to use them: products summed in a wide type.
        p.result(dot(p, a, b, ([1], [0]), kind="f32" if "f" in kind else "i32"))
    x, w = p.sample((1, 6, 2), kind), p.sample((3, 2, 4), kind)
    p.result(convolve(p, x, w, "b0f 0io b0f", [1], [(1, 1)], [1], [1]))
    p.check(ulps=2)


def test_a_reducer_of_several_ops() -> None:
    """Neither one commutative op nor one that a vector may reorder: scalar, in order."""
    p = Program()
    f = "tensor<f32>"
    region = (
        f"{{^bb0(%a: {f}, %b: {f}): "
        f'%p = "hlo.maximum"(%a, %b) : ({f}, {f}) -> {f} %q = "hlo.abs"(%p) : ({f}) -> {f} '
        f'%m = "hlo.maximum"(%p, %q) : ({f}, {f}) -> {f} "hlo.return"(%m) : ({f}) -> ()}}'
    )
    for shape in [(4, 33), (33, 4), (200,)]:
        x = p.sample(shape, "f32")
        y = p.op("abs", [x], shape)
        start = p.constant(number(0, "f32"), (), "f32")
        for d in range(len(shape)):
            kept = [n for k, n in enumerate(shape) if k != d]
            p.result(p.op("reduce", [y, start], kept, None, f"dimensions = {ints([d])}", region))
    p.check()
