"""Orders of dimensions in memory carry over from one side of an op to the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hlo.passes.layouts.orders import (
    Order,
    after_reduction,
    after_reshape,
    after_transpose,
    before_broadcast,
    before_reduction,
    before_transpose,
    normal,
)


def in_memory(array: np.ndarray, order: Order) -> list[int]:
    """The elements in the sequence that an order has them in."""
    return array.transpose(order).ravel().tolist()


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [
        ((2, 3, 4), (0, 2, 1), (0, 2, 1)),
        ((2, 1, 4), (1, 2, 0), (1, 2, 0)),
        ((2, 1, 4), (2, 0, 1), (1, 2, 0)),
        ((2, 1, 4), (1, 0, 2), (0, 1, 2)),
        ((), (), ()),
    ],
)
def test_one_order_for_each_arrangement(
    shape: tuple[int, ...], order: Order, expected: Order
) -> None:
    assert normal(shape, order) == expected


def test_a_transpose_moves_nothing_between_matching_orders() -> None:
    permutation, order = (2, 0, 1), (1, 2, 0)
    x = np.arange(24).reshape(2, 3, 4)
    operand = before_transpose(permutation, order)
    assert in_memory(x, operand) == in_memory(x.transpose(permutation), order)
    assert after_transpose(permutation, operand) == order


def test_a_reduction_keeps_the_order_of_what_it_leaves() -> None:
    # Of 3, 1, 2, 0 without dimension 1: 3, 2, 0, which are then 2, 1, 0.
    assert after_reduction((3, 1, 2, 0), [1]) == (2, 1, 0)
    assert before_reduction((2, 1, 0), [1], 4) == (3, 2, 0, 1)


def test_a_broadcast_induces_the_order_of_its_operand() -> None:
    # Operand dimensions 0 and 1 are the result's 2 and 0, of which 2 is major.
    assert before_broadcast([2, 0], (2, 1, 0)) == (0, 1)
    assert before_broadcast([2, 0], (0, 1, 2)) == (1, 0)


@pytest.mark.parametrize(
    ("before", "after", "order", "expected"),
    [
        ((6, 4), (2, 3, 4), (1, 0), (2, 0, 1)),
        ((2, 3, 4), (6, 4), (2, 0, 1), (1, 0)),
        ((2, 3, 4), (6, 4), (1, 0, 2), None),  # 2 and 3 merge, but 3 is major
        ((2, 3, 4), (2, 12), (1, 0, 2), None),  # 3 and 4 merge, but 2 lies between
        ((4, 1, 6), (4, 6), (1, 2, 0), (1, 0)),
        ((4, 6), (4, 1, 6), (1, 0), (1, 2, 0)),
        ((4, 6), (6, 4), (0, 1), (0, 1)),
        ((4, 6), (6, 4), (1, 0), None),
        ((0, 6), (6, 0), (1, 0), None),
        ((1, 1), (1,), (0, 1), (0,)),
    ],
)
def test_a_reshape_carries_over_what_stays_together(
    before: tuple[int, ...], after: tuple[int, ...], order: Order, expected: Order | None
) -> None:
    assert after_reshape(before, after, order) == expected
    if expected is not None:
        x = np.arange(math.prod(before)).reshape(before)
        assert in_memory(x, order) == in_memory(x.reshape(after), expected)
