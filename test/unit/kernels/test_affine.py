"""Index expressions: bounds, exact division, positions, loop extents from cuts."""

from __future__ import annotations

import itertools

import pytest

from hlo.passes.hlo_to_loops.affine import ZERO, Affine, Position, merge_cuts, suffix_products

U, V = Affine.variable("%i"), Affine.variable("%j")


def value(index: Affine, **at: int) -> int:
    return index.constant + sum(c * at[name.lstrip("%")] for name, c in index.terms)


def test_equal_expressions_are_equal_objects() -> None:
    assert U + V == V + U
    assert U * 3 + U * -3 == ZERO
    assert U * 0 == ZERO
    assert (U + 2) * 3 == U * 3 + 6
    assert hash(U + V + 1) == hash(V + 1 + U)


def test_bounds() -> None:
    # 3i - 2j + 1 with i in 0..4, j in 0..2: from 0 - 4 + 1 to 12 - 0 + 1.
    assert (U * 3 + V * -2 + 1).bounds({"%i": 5, "%j": 3}) == (-3, 13)
    assert Affine((), 7).bounds({}) == (7, 7)


def test_split() -> None:
    """(8 i + j) divided by 40, in parts: by 8, which j does not reach, then i by 5."""
    extents = {"%i": 100, "%j": 8}
    assert (U * 8 + V).split(40, extents) == (8, U, V)
    assert (U * 8 + V + 16).split(40, extents) == (8, U + 2, V)
    assert (U * 8 + V).split(40, {"%i": 100, "%j": 9}) is None  # j reaches 8
    assert (U * 3 + V).split(40, extents) is None
    assert (U * 40 + V * 4).split(40, {"%i": 100, "%j": 100}) == (4, U * 10 + V, ZERO)


@pytest.mark.parametrize(
    ("index", "divisor"),
    [
        (U * 4 + V, 4),
        (U * 8 + V, 4),
        (U * 4 + V + 4, 4),
        (U * 12 + V * 4 + 3, 4),
        (U * 6 + V * 2 + 1, 2),
        (U, 1),
        (V, 7),
    ],
)
def test_exact_division(index: Affine, divisor: int) -> None:
    extents = {"%i": 5, "%j": 4}
    exact = index.divmod(divisor, extents)
    assert exact is not None
    for i, j in itertools.product(range(5), range(4)):
        assert (value(exact[0], i=i, j=j), value(exact[1], i=i, j=j)) == divmod(
            value(index, i=i, j=j), divisor
        )


@pytest.mark.parametrize(
    ("index", "divisor"),
    [
        (U * 3 + V, 4),  # crosses a multiple of 4 at other values of j for every i
        (U * 4 + V, 3),
        (V + 1, 4),  # j = 3 carries
    ],
)
def test_division_that_is_not_affine(index: Affine, divisor: int) -> None:
    assert index.divmod(divisor, {"%i": 5, "%j": 4}) is None


def test_positions() -> None:
    assert suffix_products((2, 3, 5)) == (15, 5, 1)
    assert suffix_products(()) == ()
    assert Position.of_dims((U, V)).linear((4, 5)) == U * 5 + V
    # A dimension of one has but one index.
    assert Position.of_dims((U, V)).linear((1, 5)) == V
    assert Position.of_offset(U).linear((4, 5)) == U


@pytest.mark.parametrize(
    ("cuts", "size", "extents"),
    [
        (set(), 60, [60]),
        ({5}, 60, [12, 5]),
        ({5, 20}, 60, [3, 4, 5]),
        ({5, 20, 60}, 60, [3, 4, 5]),
        ({1}, 60, [60]),
        ({4, 6}, 24, [6, 4]),  # 6 is no multiple of 4: the smaller one stays
        ({7}, 60, [60]),
        (set(), 1, [1]),
        (set(), 0, [0]),
    ],
)
def test_extents(cuts: set[int], size: int, extents: list[int]) -> None:
    assert merge_cuts(cuts, size) == extents
