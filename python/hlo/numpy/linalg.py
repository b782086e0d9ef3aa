"""Norms, factorisations and solves of matrices, with any leading batch dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hlo import lax
from hlo.frontend.dtypes import finfo, inexact_dtype, is_complex, promote_types
from hlo.frontend.operands import (
    broadcast_shapes,
    convert,
    dtype_of,
    normalized_axes,
    shape_error,
    to_tracer,
)
from hlo.frontend.operation import operation
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import factorizations
from hlo.numpy import creation, manipulation, products, reductions
from hlo.numpy import elementwise as ew

matmul = products.matmul
matrix_transpose = manipulation.matrix_transpose
outer = products.outer
tensordot = products.tensordot
trace = products.trace
vecdot = products.vecdot


def _squares(x: Tracer) -> Tracer:
    if is_complex(x.dtype):
        return ew.add(ew.square(lax.real(x)), ew.square(lax.imag(x)))
    return ew.square(x)


@operation
def norm(
    x: ArrayLike,
    ord: Any = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tracer:
    """Norm of vectors, or of matrices (two axes): by default the root of the sum of squares.

    Args:
        x: the array.
        ord: for vectors any number, inf, -inf, 0; for matrices 1, -1, inf, -inf or ``fro``.
        axis: the axes of the vectors or matrices; all by default.
        keepdims: whether axes stay, with extent 1.
    """
    operand = ew.inexact("norm", x)[0]
    axes = normalized_axes("norm", axis, operand.ndim)
    if ord is None or (ord in ("fro", "f") and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return lax.sqrt(reductions.sum(_squares(operand), axes, keepdims=keepdims))
    if len(axes) == 1:
        return _vector_norm(lax.abs(operand), ord, axes, keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        summed = axes[0] if abs(ord) == 1 else axes[1]
        other = axes[1] if abs(ord) == 1 else axes[0]
        totals = reductions.sum(lax.abs(operand), summed, keepdims=True)
        extreme = reductions.max if ord > 0 else reductions.min
        found = extreme(totals, other, keepdims=True)
        return found if keepdims else lax.squeeze(found, axes)
    raise shape_error("norm", f"no norm of order {ord!r} over {len(axes)} axes")


def _vector_norm(magnitudes: Tracer, ord: Any, axes: Sequence[int], keepdims: bool) -> Tracer:
    if ord == np.inf:
        return reductions.max(magnitudes, axes, keepdims)
    if ord == -np.inf:
        return reductions.min(magnitudes, axes, keepdims)
    if ord == 0:
        return reductions.sum(lax.ne(magnitudes, 0), axes, magnitudes.dtype, keepdims)
    if ord == 1:
        return reductions.sum(magnitudes, axes, keepdims=keepdims)
    powers = reductions.sum(ew.power(magnitudes, float(ord)), axes, keepdims=keepdims)
    return ew.power(powers, 1.0 / float(ord))


@operation
def cholesky(a: ArrayLike, *, upper: bool = False) -> Tracer:
    """Triangular factor of Hermitian positive definite matrices; NaN where they are not."""
    operand = ew.inexact("cholesky", a)[0]
    adjoint = lax.conj(manipulation.matrix_transpose(operand))
    symmetric = lax.mul(lax.add(operand, adjoint), 0.5)
    factor = lax.cholesky(symmetric)
    return lax.conj(manipulation.matrix_transpose(factor)) if upper else factor


@operation
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    *,
    lower: bool = False,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Tracer:
    """x of a x = b (or of a^T x = b) for triangular a; b is a vector or has columns."""
    matrix, right = _promoted(a, b)
    is_vector = right.ndim == matrix.ndim - 1
    columns = lax.expand_dims(right, (right.ndim,)) if is_vector else right
    solution = lax.triangular_solve(
        matrix,
        columns,
        left_side=True,
        lower=lower,
        transpose_a=transpose,
        unit_diagonal=unit_diagonal,
    )
    return lax.squeeze(solution, (solution.ndim - 1,)) if is_vector else solution


@operation
def cho_solve(factor: ArrayLike, b: ArrayLike) -> Tracer:
    """x of A x = b, given the lower triangular factor L of A = L L^H."""
    matrix, right = _promoted(factor, b)
    half = solve_triangular(matrix, right, lower=True)
    upper = lax.conj(manipulation.matrix_transpose(matrix))
    return solve_triangular(upper, half, lower=False)


def _promoted(a: ArrayLike, b: ArrayLike) -> tuple[Tracer, Tracer]:
    dtype = inexact_dtype(promote_types((dtype_of(a), dtype_of(b))))
    return convert(to_tracer(a), dtype), convert(to_tracer(b), dtype)


@operation
def matrix_power(a: ArrayLike, n: int) -> Tracer:
    """Matrices to a power n >= 0, by repeated squaring."""
    operand = to_tracer(a)
    if operand.ndim < 2 or operand.shape[-1] != operand.shape[-2] or n < 0:
        raise shape_error(
            "matrix_power", f"expected square matrices and n >= 0, found {operand.aval}"
        )
    result: Tracer | None = None
    while n:
        if n & 1:
            result = operand if result is None else products.matmul(result, operand)
        n >>= 1
        if n:
            operand = products.matmul(operand, operand)
    if result is not None:
        return result
    eye = creation.eye(operand.shape[-1], dtype=operand.dtype)
    return manipulation.broadcast_to(eye, operand.shape)


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors as columns."""

    eigenvalues: Tracer
    eigenvectors: Tracer


class SVDResult(NamedTuple):
    """Singular vectors as columns, singular values in descending order, and as rows."""

    U: Tracer
    S: Tracer
    Vh: Tracer


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangular matrix."""

    Q: Tracer
    R: Tracer


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Tracer
    logabsdet: Tracer


@operation
def eigh(a: ArrayLike) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices; both triangles are averaged."""
    (operand,) = ew.inexact("eigh", a)
    adjoint = lax.conj(manipulation.matrix_transpose(operand))
    return EighResult(*factorizations.eigh(lax.mul(lax.add(operand, adjoint), 0.5)))


@operation
def eigvalsh(a: ArrayLike) -> Tracer:
    """Eigenvalues of Hermitian matrices, ascending."""
    return eigh(a).eigenvalues


@operation
def svd(a: ArrayLike, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition a = U diag(S) Vh."""
    return SVDResult(*factorizations.svd(ew.inexact("svd", a)[0], full_matrices))


@operation
def svdvals(a: ArrayLike) -> Tracer:
    """Singular values, descending."""
    return svd(a, full_matrices=False).S


@operation
def qr(a: ArrayLike, mode: str = "reduced") -> QRResult:
    """a = Q R: ``reduced`` or ``complete``."""
    if mode not in ("reduced", "complete"):
        raise shape_error("qr", f"expected a mode reduced or complete, found {mode!r}")
    return QRResult(*factorizations.qr(ew.inexact("qr", a)[0], mode == "complete"))


@operation
def solve(a: ArrayLike, b: ArrayLike) -> Tracer:
    """x of a x = b, by LU; b is one vector or has columns, its leading dimensions are broadcast."""
    matrix, right = _promoted(a, b)
    if right.ndim == 1:
        return lax.squeeze(solve(matrix, lax.expand_dims(right, (1,))), (-1,))
    batch = broadcast_shapes("solve", (matrix.shape[:-2], right.shape[:-2]))
    matrix = manipulation.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
    right = manipulation.broadcast_to(right, (*batch, *right.shape[-2:]))
    factors, _, order = factorizations.lu(matrix)
    places = manipulation.broadcast_to(lax.expand_dims(order, (order.ndim,)), right.shape)
    permuted = manipulation.take_along_axis(right, places, -2)
    lower = lax.triangular_solve(factors, permuted, left_side=True, lower=True, unit_diagonal=True)
    return lax.triangular_solve(factors, lower, left_side=True, lower=False)


@operation
def inv(a: ArrayLike) -> Tracer:
    """Inverse matrices."""
    (operand,) = ew.inexact("inv", a)
    return solve(operand, creation.eye(operand.shape[-1], dtype=operand.dtype))


@operation
def slogdet(a: ArrayLike) -> SlogdetResult:
    """Sign and logarithm of the absolute value of determinants; 0 and -inf for singular ones."""
    factors, pivots, _ = factorizations.lu(ew.inexact("slogdet", a)[0])
    diagonal = manipulation.diagonal(factors, 0, -2, -1)
    sign = lax.mul(_parity(pivots, diagonal.dtype), reductions.prod(lax.sign(diagonal), -1))
    return SlogdetResult(sign, reductions.sum(lax.log(lax.abs(diagonal)), -1))


@operation
def det(a: ArrayLike) -> Tracer:
    """Determinants."""
    factors, pivots, _ = factorizations.lu(ew.inexact("det", a)[0])
    diagonal = manipulation.diagonal(factors, 0, -2, -1)
    return lax.mul(_parity(pivots, diagonal.dtype), reductions.prod(diagonal, -1))


def _parity(pivots: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """1 or -1 for an even or odd number of exchanged rows."""
    rows = lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    exchanges = reductions.sum(lax.ne(pivots, rows), -1)
    return convert(lax.sub(1, lax.mul(lax.rem(exchanges, 2), 2)), dtype)


@operation
def pinv(a: ArrayLike, rtol: float | None = None) -> Tracer:
    """Pseudo-inverse; singular values up to rtol times the greatest count as zero."""
    u, s, vh = svd(a, full_matrices=False)
    size = max(u.shape[-2], vh.shape[-1])
    cutoff = (10.0 * size * float(finfo(s.dtype).eps)) if rtol is None else rtol
    greatest = reductions.max(s, -1, keepdims=True, initial=0)
    kept = ew.greater(s, lax.mul(greatest, cutoff))
    inverse = ew.where(kept, lax.div(1.0, ew.where(kept, s, 1)), 0)
    left = lax.conj(manipulation.matrix_transpose(vh))
    scaled = ew.multiply(left, lax.expand_dims(inverse, (inverse.ndim - 1,)))
    return products.matmul(scaled, lax.conj(manipulation.matrix_transpose(u)))


@operation
def matrix_rank(a: ArrayLike, rtol: float | None = None) -> Tracer:
    """Number of singular values above rtol times the greatest."""
    values = svdvals(a)
    size = max(to_tracer(a).shape[-2:])
    cutoff = size * float(finfo(values.dtype).eps) if rtol is None else rtol
    greatest = reductions.max(values, -1, keepdims=True, initial=0)
    return reductions.sum(ew.greater(values, lax.mul(greatest, cutoff)), -1)
