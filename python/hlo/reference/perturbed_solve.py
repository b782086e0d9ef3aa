"""Solution of tridiagonal systems that may be singular, as jaxlib's
`tridiagonal_solve_perturbed_ffi` defines it: LAPACK's lagtf and lagts for many right-hand sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo.reference.element_types import Array


def perturbed_solve(lower: Array, diagonal: Array, upper: Array, sides: Array) -> Array:
    """X with A X = B, where a pivot of A's factor U that is too small is moved away from zero by
    eps * max |U|, and by twice as much each time until the division does not overflow.

    Args:
        lower, diagonal, upper: A's diagonals, [..., n]; the lower one's first element and the upper
            one's last are not part of A.
        sides: B, [..., n, k].
    """
    solution = np.zeros_like(sides)
    if solution.size == 0:
        return solution
    with np.errstate(all="ignore"):
        for item in np.ndindex(*diagonal.shape[:-1]):
            solution[item] = _solve(lower[item], diagonal[item], upper[item], sides[item])
    return solution


def _solve(lower: Array, diagonal: Array, upper: Array, sides: Array) -> Array:
    n = len(diagonal)
    factor, x, largest = _eliminate(lower, diagonal, upper, sides)
    step = np.finfo(diagonal.dtype).eps * largest
    for k in reversed(range(n)):
        for ahead in range(1, min(3, n - k)):
            x[k] -= factor[k, ahead] * x[k + ahead]
        pivot, x[k] = _settle(factor[k, 0], step, x[k])
        x[k] *= diagonal.dtype.type(1) / pivot
    return x


def _eliminate(
    lower: Array, diagonal: Array, upper: Array, sides: Array
) -> tuple[Array, Array, np.floating]:
    """U by its diagonals, [n, 3]; the right-hand sides of its system; max |U|, its last row but one
    left out.
    """
    n = len(diagonal)
    factor = np.zeros((n, 3), diagonal.dtype)
    factor[:, 0], factor[:-1, 1] = diagonal, upper[:-1]
    x = sides.copy()
    scale = np.abs(factor[0]).sum()
    largest = np.abs(factor[0]).max()
    for k in range(n - 1):
        below, row, under = lower[k + 1], factor[k].copy(), factor[k + 1].copy()
        scale_below = np.abs(below) + np.abs(under).sum()
        weight = np.abs(row[0]) / scale if row[0] != 0 else 0
        if below == 0:
            scale = scale_below
        elif np.abs(below) / scale_below <= weight:
            times = below / row[0]
            factor[k + 1, 0] -= times * row[1]
            x[k + 1] -= times * x[k]
            scale = scale_below
        else:
            times = row[0] / below
            factor[k] = below, under[0], under[1]
            factor[k + 1, :2] = row[1] - times * under[0], -times * under[1]
            x[k], x[k + 1] = x[k + 1].copy(), x[k] - times * x[k + 1]
            scale = np.abs(factor[k + 1]).sum()
        if k < n - 2:
            largest = max(largest, np.abs(factor[k]).max())
    return factor, x, max(largest, np.abs(factor[-1, 0]))


def _settle(pivot: Any, step: Any, row: Array) -> tuple[Any, Array]:
    """A pivot that divides the row without overflow, and the row, scaled if both are tiny."""
    least = np.finfo(row.dtype).tiny
    most = 1 / least
    largest = np.abs(row).max()
    step = np.copysign(max(step, least), pivot.real)
    while (size := np.abs(pivot)) < 1:
        if size >= least and not largest > size * most:
            break
        if 0 < size < least and not largest * least > size:
            return pivot * most, row * most
        pivot = pivot + step
        step = step * 2
    return pivot, row
