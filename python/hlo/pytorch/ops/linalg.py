"""Factorisations and solutions of linear systems. Checks of singular matrices report no error: the
results hold NaN or infinities, and `info` is 0 or 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlo import lax
from hlo import numpy as hnp
from hlo.diagnostics import UnsupportedError
from hlo.frontend.dtypes import INT32, finfo
from hlo.frontend.operands import convert
from hlo.frontend.tracer import Tracer
from hlo.lax import factorizations
from hlo.model_ops import tensor
from hlo.pytorch.ops.registry import aten


def _adjoint(x: Tracer) -> Tracer:
    return hnp.conj(hnp.swapaxes(x, -1, -2))


def _no_error(x: Tracer) -> Tracer:
    """`info` of each matrix: 1 where the result is not a number."""
    bad = hnp.any(hnp.isnan(x), axis=(-2, -1))
    return convert(bad, INT32)


@aten("cholesky", "linalg_cholesky")
def cholesky(self: Tracer, upper: bool = False) -> Tracer:
    """L with L L^H = A, or U with U^H U = A."""
    return lax.cholesky(self, lower=not upper)


@aten("linalg_cholesky_ex")
def cholesky_ex(
    self: Tracer, upper: bool = False, check_errors: bool = False
) -> tuple[Tracer, Tracer]:
    """`cholesky`, and whether it failed."""
    found = cholesky(self, upper)
    return found, _no_error(found)


def _solved(a: Tracer, b: Tracer, lower: bool, adjoint: bool = False) -> Tracer:
    return lax.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


def _together(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
    """Matrices with their batches broadcast."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (
        hnp.broadcast_to(a, (*batch, *a.shape[-2:])),
        hnp.broadcast_to(b, (*batch, *b.shape[-2:])),
    )


@aten("cholesky_solve")
def cholesky_solve(self: Tracer, input2: Tracer, upper: bool = False) -> Tracer:
    """x of A x = b for the Cholesky factor `input2` of A."""
    factor, b = _together(input2, self)
    if upper:
        return _solved(factor, _solved(factor, b, False, adjoint=True), False)
    return _solved(factor, _solved(factor, b, True), True, adjoint=True)


@aten("cholesky_inverse")
def cholesky_inverse(self: Tracer, upper: bool = False) -> Tracer:
    """The inverse of A for its Cholesky factor."""
    unit = hnp.broadcast_to(hnp.eye(self.shape[-1], dtype=self.dtype), self.shape)
    return cholesky_solve(unit, self, upper)


@aten("linalg_solve_triangular")
def solve_triangular(
    self: Tracer,
    B: Tracer,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tracer:
    """x of A x = B, or of x A = B, for triangular A."""
    a, b = _together(self, B)
    return lax.triangular_solve(a, b, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@aten("triangular_solve")
def triangular_solve(
    self: Tracer,
    A: Tracer,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Tracer, Tracer]:
    """x of A x = b (or A^T x = b), and A."""
    a, b = _together(A, self)
    found = lax.triangular_solve(
        a,
        b,
        left_side=True,
        lower=not upper,
        transpose_a=transpose,
        unit_diagonal=unitriangular,
    )
    return found, a


@aten("linalg_lu_factor_ex")
def lu_factor_ex(
    A: Tracer,
    pivot: bool = True,
    check_errors: bool = False,
) -> tuple[Tracer, Tracer, Tracer]:
    """L and U in one matrix, the pivots counted from 1, and whether it failed."""
    _needs_pivots(pivot)
    factors, pivots, _ = factorizations.lu(A)
    return factors, convert(hnp.add(pivots, 1), INT32), _no_error(factors)


def _needs_pivots(pivot: bool) -> None:
    if not pivot:
        raise UnsupportedError("expected pivoting (pivot=True)", op="aten.linalg_lu")


@aten("linalg_lu")
def lu(A: Tracer, pivot: bool = True) -> tuple[Tracer, Tracer, Tracer]:
    """P, L and U with A = P L U."""
    _needs_pivots(pivot)
    factors, _, order = factorizations.lu(A)
    return _permutation(order, A.dtype), *_lower_upper(factors)


def _lower_upper(factors: Tracer) -> tuple[Tracer, Tracer]:
    *_, rows, columns = factors.shape
    count = min(rows, columns)
    unit = hnp.eye(rows, count, dtype=factors.dtype)
    lower = hnp.add(hnp.tril(factors[..., :count], -1), unit)
    return lower, hnp.triu(factors[..., :count, :])


def _permutation(order: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """P with P[order[i], i] = 1."""
    rows = lax.broadcasted_iota(order.dtype, (order.shape[-1], 1), 0)
    return convert(hnp.equal(lax.expand_dims(order, (order.ndim - 1,)), rows), dtype)


@aten("lu_unpack")
def lu_unpack(
    LU_data: Tracer,
    LU_pivots: Tracer,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Tracer, Tracer, Tracer]:
    """P, L and U of a factorisation."""
    rows = LU_data.shape[-2]
    lower, upper = _lower_upper(LU_data)
    return _permutation(_order(LU_pivots, rows), LU_data.dtype), lower, upper


def _order(pivots: Tracer, rows: int) -> Tracer:
    """The order of rows after all exchanges; pivots count from 1."""
    order = hnp.broadcast_to(lax.iota(INT32, rows), (*pivots.shape[:-1], rows))
    places = lax.iota(INT32, rows)
    for i in range(pivots.shape[-1]):
        other = lax.expand_dims(hnp.subtract(pivots[..., i], 1), (pivots.ndim - 1,))
        first = order[..., i : i + 1]
        second = hnp.take_along_axis(order, other, axis=-1)
        order = hnp.where(hnp.equal(places, other), first, order)
        order = hnp.where(hnp.equal(places, i), second, order)
    return order


@aten("linalg_lu_solve")
def lu_solve(
    LU: Tracer,
    pivots: Tracer,
    B: Tracer,
    left: bool = True,
    adjoint: bool = False,
) -> Tracer:
    """x of A x = B for a factorisation of A."""
    if not left:
        return _adjoint(lu_solve(LU, pivots, _adjoint(B), True, not adjoint))
    batch = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    factors, right = _together(LU, B)
    order = hnp.broadcast_to(_order(pivots, LU.shape[-1]), (*batch, LU.shape[-1]))
    lower, upper = _lower_upper(factors)
    if not adjoint:
        rows = hnp.broadcast_to(lax.expand_dims(order, (order.ndim,)), right.shape)
        exchanged = hnp.take_along_axis(right, rows, axis=-2)
        return _solved(upper, _solved(lower, exchanged, True), False)
    found = _solved(lower, _solved(upper, right, False, adjoint=True), True, adjoint=True)
    return hnp.matmul(_permutation(order, found.dtype), found)


@aten("linalg_inv_ex")
def inv_ex(A: Tracer, check_errors: bool = False) -> tuple[Tracer, Tracer]:
    """The inverse, and whether there is none."""
    found = hnp.linalg.inv(A)
    return found, _no_error(found)


@aten("_linalg_solve_ex")
def solve_ex(
    A: Tracer,
    B: Tracer,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """x of A x = B (or x A = B), and A's factorisation."""
    factors, pivots, info = lu_factor_ex(A)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    right = lax.expand_dims(B, (B.ndim,)) if vector else B
    found = lu_solve(factors, pivots, right, left)
    found = lax.squeeze(found, (found.ndim - 1,)) if vector else found
    return found, factors, pivots, info


@aten("_linalg_det")
def det(A: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """The determinant, and A's factorisation."""
    factors, pivots, _ = lu_factor_ex(A)
    return hnp.linalg.det(A), factors, pivots


@aten("_linalg_slogdet")
def slogdet(A: Tracer) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """The determinant's sign and logarithm, and A's factorisation."""
    factors, pivots, _ = lu_factor_ex(A)
    sign, logarithm = hnp.linalg.slogdet(A)
    return sign, logarithm, factors, pivots


@aten("linalg_qr")
def qr(A: Tracer, mode: str = "reduced") -> tuple[Tracer, Tracer]:
    """Q with orthonormal columns and upper triangular R."""
    q, r = factorizations.qr(A, full_matrices=mode == "complete")
    return (hnp.zeros((0,), dtype=A.dtype), r) if mode == "r" else (q, r)


@aten("_linalg_svd")
def svd(
    A: Tracer,
    full_matrices: bool = False,
    compute_uv: bool = True,
    driver: str | None = None,
) -> tuple[Tracer, Tracer, Tracer]:
    """U, singular values and V^H; nothing but the values unless asked for."""
    left, values, right = factorizations.svd(A, full_matrices)
    if compute_uv:
        return left, values, right
    none = hnp.zeros((0,), dtype=A.dtype)
    return none, values, none


@aten("_linalg_eigh")
def eigh(
    A: Tracer,
    UPLO: str = "L",
    compute_v: bool = True,
) -> tuple[Tracer, Tracer]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    values, vectors = factorizations.eigh(A, lower=UPLO.upper() == "L")
    return values, vectors if compute_v else hnp.zeros((0,), dtype=A.dtype)


@aten("_cdist_forward", "cdist")
def cdist(x1: Tracer, x2: Tracer, p: float = 2, compute_mode: int | None = None) -> Tracer:
    """Distances of order p between all rows of two matrices."""
    return _norms(hnp.abs(hnp.subtract(lax.expand_dims(x1, (x1.ndim - 1,)), _rows(x2))), p)


@aten("_cdist_backward")
def cdist_backward(grad: Tracer, x1: Tracer, x2: Tracer, p: float, cdist: Tracer) -> Tracer:
    """Gradients by the rows of the first matrix; 0 where rows are equal."""
    between = hnp.subtract(lax.expand_dims(x1, (x1.ndim - 1,)), _rows(x2))
    apart, zero = hnp.abs(between), tensor(0, x1.dtype)
    far, by = lax.expand_dims(cdist, (cdist.ndim,)), lax.expand_dims(grad, (grad.ndim,))
    if p == 0:
        return hnp.zeros(x1.shape, x1.dtype)
    if p == 1:
        share = hnp.sign(between)
    elif np.isinf(p):
        share = hnp.where(hnp.equal(apart, far), hnp.sign(between), zero)
    else:
        scaled = between if p == 2 else hnp.multiply(between, hnp.power(apart, p - 2))
        nearness = far if p == 2 else hnp.power(far, p - 1)
        share = hnp.where(hnp.equal(apart, 0), zero, hnp.divide(scaled, nearness))
    return hnp.sum(hnp.multiply(by, share), axis=-2)


def _norms(apart: Tracer, p: float) -> Tracer:
    """Norms of order p of what is not negative, along the last dimension."""
    if p == 0:
        return hnp.sum(convert(hnp.not_equal(apart, 0), apart.dtype), axis=-1)
    if p == 1:
        return hnp.sum(apart, axis=-1)
    if np.isinf(p):
        return hnp.amax(apart, axis=-1) if apart.shape[-1] else hnp.sum(apart, axis=-1)
    if p == 2:
        return lax.sqrt(hnp.sum(lax.mul(apart, apart), axis=-1))
    return hnp.power(hnp.sum(hnp.power(apart, tensor(p, apart.dtype)), axis=-1), 1 / p)


def _rows(x: Tracer) -> Tracer:
    return lax.expand_dims(x, (x.ndim - 2,))


@aten("_pdist_forward", "pdist")
def pdist(self: Tracer, p: float = 2) -> Tracer:
    """Distances of order p between each two rows of a matrix, in the order of the rows."""
    first, second = np.triu_indices(self.shape[0], 1)
    apart = hnp.subtract(hnp.take(self, first, axis=0), hnp.take(self, second, axis=0))
    return _norms(hnp.abs(apart), p)


@aten("linalg_pinv", "linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float")
def pinv(self: Tracer, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tracer:
    """Pseudo-inverse; singular values up to max(atol, rtol times the greatest) count as zero. Of
    Hermitian matrices the lower triangle is read."""
    if hermitian:
        values, left = factorizations.eigh(self, lower=True)
        right = _adjoint(left)
    else:
        left, values, right = factorizations.svd(self, full_matrices=False)
    sizes = hnp.abs(values)
    if rtol is None:
        small = float(finfo(values.dtype).eps) * max(self.shape[-2:])
        rtol = small if atol is None else _where_zero(atol, small)
    greatest = hnp.amax(sizes, axis=-1, keepdims=True) if sizes.shape[-1] else sizes
    bound = hnp.multiply(greatest, _column(rtol, sizes))
    if atol is not None:
        bound = hnp.maximum(bound, _column(atol, sizes))
    kept = hnp.greater(sizes, bound)
    inverse = hnp.where(kept, hnp.reciprocal(hnp.where(kept, values, 1)), 0)
    scaled = hnp.multiply(_adjoint(right), hnp.expand_dims(inverse, -2))
    return hnp.matmul(scaled, _adjoint(left))


def _where_zero(atol: Any, small: float) -> Any:
    """What rtol is if only atol is given: 0, or its usual value where atol is 0."""
    if not isinstance(atol, Tracer):
        return 0.0 if atol > 0 else small
    return hnp.where(hnp.greater(atol, 0), 0.0, small)


def _column(bound: Any, values: Tracer) -> Tracer:
    """A number, or one for each matrix, beside its singular values."""
    found = tensor(bound, values.dtype)
    return hnp.expand_dims(found, -1) if found.ndim else found


@aten("geqrf")
def geqrf(self: Tracer) -> tuple[Tracer, Tracer]:
    """R above and the reflectors of Q below the diagonal, and their scales."""
    return factorizations.packed_qr(self)


@aten("linalg_householder_product", "orgqr")
def householder_product(input: Tracer, tau: Tracer) -> Tracer:
    """The first columns of the product of reflectors."""
    return factorizations.householder_product(input, tau)


@aten("ormqr")
def ormqr(
    self: Tracer,
    input2: Tracer,
    input3: Tracer,
    left: bool = True,
    transpose: bool = False,
) -> Tracer:
    """Q x or x Q, or with Q^H, for the Q of reflectors (a square matrix)."""
    rows = self.shape[-2]
    missing = [(0, 0)] * (self.ndim - 1) + [(0, max(rows - self.shape[-1], 0))]
    square = hnp.pad(self, missing)[..., :rows]
    q = factorizations.householder_product(square, input2)
    factor = _adjoint(q) if transpose else q
    return hnp.matmul(factor, input3) if left else hnp.matmul(input3, factor)
