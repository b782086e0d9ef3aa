"""cholesky and triangular_solve, on batches of matrices."""

from __future__ import annotations

import numpy as np

from hlo.reference.element_types import Array, extend, round_to, widen


def _adjoint(matrices: Array) -> Array:
    return np.conj(np.swapaxes(matrices, -1, -2))


def _lower_factor(matrix: Array) -> Array:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.tril(np.full(matrix.shape, np.nan, matrix.dtype))


def cholesky(a: Array, *, lower: bool = False) -> Array:
    """L with a = L L^H (or U with a = U^H U), reading only that triangle of a; zeros in the other.

    NaN throughout the triangle of a matrix that is not positive definite.
    """
    if a.size == 0:
        return np.zeros(a.shape, a.dtype)
    wide = widen(a)
    flat = (wide if lower else _adjoint(wide)).reshape((-1, *a.shape[-2:]))
    result = np.stack([_lower_factor(matrix) for matrix in flat]).reshape(a.shape)
    return round_to(result if lower else _adjoint(result), a.dtype)


def _forward_substitution(a: Array, b: Array, unit_diagonal: bool) -> Array:
    x = np.zeros_like(b)
    for row in range(a.shape[-1]):
        known = np.matmul(a[..., row : row + 1, :row], x[..., :row, :])[..., 0, :]
        rest = b[..., row, :] - known
        x[..., row, :] = rest if unit_diagonal else rest / a[..., row, row, np.newaxis]
    return x


def triangular_solve(
    a: Array, b: Array, *, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str
) -> Array:
    """x of op(a) x = b, or of x op(a) = b unless `left_side`, reading only a's triangle.

    op is none, TRANSPOSE or ADJOINT; a unit diagonal is taken for granted and not read. A zero on
    the diagonal divides as floats do.
    """
    matrices = extend(a)
    rhs = extend(b)
    upper = not lower
    matrices = np.triu(matrices) if upper else np.tril(matrices)
    if transpose_a == "ADJOINT":
        matrices, upper = _adjoint(matrices), not upper
    elif transpose_a == "TRANSPOSE":
        matrices, upper = np.swapaxes(matrices, -1, -2), not upper
    if not left_side:
        matrices, upper = np.swapaxes(matrices, -1, -2), not upper
        rhs = np.swapaxes(rhs, -1, -2)
    # Reversing rows and columns makes an upper triangle a lower one.
    if upper:
        matrices, rhs = matrices[..., ::-1, ::-1], rhs[..., ::-1, :]
    with np.errstate(all="ignore"):
        x = _forward_substitution(matrices, rhs, unit_diagonal)
    if upper:
        x = x[..., ::-1, :]
    if not left_side:
        x = np.swapaxes(x, -1, -2)
    return round_to(np.ascontiguousarray(x), b.dtype)
