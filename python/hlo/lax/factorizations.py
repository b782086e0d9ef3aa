"""Factorisations of matrices by LAPACK, as custom calls with the names that jaxlib registers.

Operands are float32, float64, complex64 or complex128 matrices with any leading batch
dimensions. Where LAPACK reports failure, results are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import INT32, dtype_name, is_complex, real_dtype
from hlo.frontend.operands import broadcast_in_dim, dtype_error, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer
from hlo.lax import elementwise as ew
from hlo.lax import indexed, shapes
from hlo.lax.control_flow import fori_loop

_LETTERS: Final = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_COMPLEX_NAMES: Final = {"syevd": "heevd", "orgqr": "ungqr"}


def _matrices(op: str, value: ArrayLike, *, square: bool = False) -> Tracer:
    x = to_tracer(value)
    if dtype_name(x.dtype) not in _LETTERS:
        raise dtype_error(op, f"expected {', '.join(_LETTERS)}, found {x.aval}")
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise shape_error(op, f"expected {'square ' if square else ''}matrices, found {x.aval}")
    return x


def _layout(rank: int, batch: int) -> str:
    """Minor to major: LAPACK's matrices are column-major."""
    order = list(range(rank))[::-1]
    if rank == batch + 2:
        order[:2] = [rank - 2, rank - 1]
    body = f"[{', '.join(map(str, order))}]" if order else ""
    return f"dense<{body}> : tensor<{rank}xindex>"


def _lapack(
    routine: str,
    operands: Sequence[Tracer],
    results: Sequence[ShapeDtype],
    config: Mapping[str, str] | None = None,
) -> tuple[Tracer, ...]:
    """A call of a LAPACK routine; the letters of `config` are its character arguments."""
    dtype = operands[0].dtype
    batch = operands[0].ndim - 2
    name = _COMPLEX_NAMES.get(routine, routine) if is_complex(dtype) else routine
    letters = ", ".join(f"{key} = {ord(value)} : ui8" for key, value in (config or {}).items())
    attribute = {
        "call_target_name": attributes.string(f"lapack_{_LETTERS[dtype_name(dtype)]}{name}_ffi"),
        "has_side_effect": attributes.boolean(False),
        "backend_config": attributes.string(""),
        "api_version": attributes.i32(1),
        "called_computations": attributes.parsed("[]"),
        "operand_layouts": _layouts([x.ndim for x in operands], batch),
        "result_layouts": _layouts([aval.ndim for aval in results], batch),
        "mhlo.backend_config": attributes.parsed(f"{{{letters}}}"),
        "mhlo.frontend_attributes": attributes.parsed(f'{{num_batch_dims = "{batch}"}}'),
    }
    return emit("custom_call", operands, results, attribute)


def _layouts(ranks: Sequence[int], batch: int) -> Any:
    return attributes.parsed(f"[{', '.join(_layout(rank, batch) for rank in ranks)}]")


def _or_nan(ok: Tracer, x: Tracer) -> Tracer:
    """Results, NaN in those batches where LAPACK failed."""
    spread = broadcast_in_dim(ok, x.shape, range(ok.ndim))
    return ew.select(spread, x, shapes.full_like(x, np.nan))


@operation
def lu(x: ArrayLike) -> tuple[Tracer, Tracer, Tracer]:
    """P x = L U with partial pivoting.

    Returns:
        L below and U on and above the diagonal of one matrix, the pivots (row i was exchanged with
        row pivots[i]), and the permutation of rows, both int32.
    """
    matrix = _matrices("lu", x)
    *batch, rows, columns = matrix.shape
    results = (
        matrix.aval,
        ShapeDtype((*batch, min(rows, columns)), INT32),
        ShapeDtype(batch, INT32),
    )
    factors, pivots, info = _lapack("getrf", (matrix,), results)
    pivots = ew.sub(pivots, 1)
    factors = _or_nan(ew.ge(info, 0), factors)
    return factors, pivots, _permutation(pivots, rows)


def _permutation(pivots: Tracer, rows: int) -> Tracer:
    """The order of rows after all exchanges."""
    *batch, count = pivots.shape
    total = int(np.prod(batch, dtype=np.int64))
    flat = shapes.reshape(pivots, (total, count))
    number = np.arange(total, dtype=np.int32)
    order = shapes.broadcasted_iota(INT32, (total, rows), 1)

    def exchange(i: Tracer, order: Tracer) -> Tracer:
        other = indexed.dynamic_index_in_dim(flat, i, 1, keepdims=False)
        first, second = order[:, i], order[number, other]
        return order.at[:, i].set(second).at[number, other].set(first)

    if total and count:
        order = fori_loop(0, count, exchange, order)
    return shapes.reshape(order, (*batch, rows))


@operation
def eigh(x: ArrayLike, lower: bool = True) -> tuple[Tracer, Tracer]:
    """Eigenvalues, ascending, and eigenvectors as columns, of Hermitian matrices (one triangle)."""
    matrix = _matrices("eigh", x, square=True)
    *batch, size, _ = matrix.shape
    results = (
        matrix.aval,
        ShapeDtype((*batch, size), real_dtype(matrix.dtype)),
        ShapeDtype(batch, INT32),
    )
    config = {"mode": "V", "uplo": "L" if lower else "U"}
    vectors, values, info = _lapack("syevd", (matrix,), results, config)
    ok = ew.eq(info, 0)
    return _or_nan(ok, values), _or_nan(ok, vectors)


@operation
def svd(x: ArrayLike, full_matrices: bool = True) -> tuple[Tracer, Tracer, Tracer]:
    """U, the singular values in descending order, and V^H with x = U diag(s) V^H."""
    matrix = _matrices("svd", x)
    *batch, rows, columns = matrix.shape
    count = min(rows, columns)
    results = (
        matrix.aval,
        ShapeDtype((*batch, count), real_dtype(matrix.dtype)),
        ShapeDtype((*batch, rows, rows if full_matrices else count), matrix.dtype),
        ShapeDtype((*batch, columns if full_matrices else count, columns), matrix.dtype),
        ShapeDtype(batch, INT32),
    )
    config = {"mode": "A" if full_matrices else "S"}
    _, values, left, right, info = _lapack("gesdd", (matrix,), results, config)
    ok = ew.eq(info, 0)
    return _or_nan(ok, left), _or_nan(ok, values), _or_nan(ok, right)


@operation
def qr(x: ArrayLike, full_matrices: bool = False) -> tuple[Tracer, Tracer]:
    """Q with orthonormal columns and upper triangular R with x = Q R."""
    from hlo.numpy.manipulation import triu

    matrix = _matrices("qr", x)
    rows, columns = matrix.shape[-2:]
    width = rows if full_matrices else min(rows, columns)
    packed, scales = packed_qr(matrix)
    q = householder_product(_columns(packed, width), scales)
    return q, triu(shapes.slice_in_dim(packed, 0, width, 1, -2))


@operation
def packed_qr(x: ArrayLike) -> tuple[Tracer, Tracer]:
    """LAPACK's `geqrf`: R on and above the diagonal, the vectors of Q's reflectors below, and the
    reflectors' scales."""
    matrix = _matrices("packed_qr", x)
    *batch, rows, columns = matrix.shape
    scales = ShapeDtype((*batch, min(rows, columns)), matrix.dtype)
    packed, taus = _lapack("geqrf", (matrix,), (matrix.aval, scales))
    return packed, taus


@operation
def householder_product(a: ArrayLike, taus: ArrayLike) -> Tracer:
    """LAPACK's `orgqr`: the first columns of a product of reflectors.

    Args:
        a: (..., m, n) with n <= m, vectors below the diagonal.
        taus: (..., k) with k <= n, their scales.
    """
    matrix = _matrices("householder_product", a)
    (q,) = _lapack("orgqr", (matrix, to_tracer(taus)), (matrix.aval,))
    return q


def _columns(x: Tracer, count: int) -> Tracer:
    """The first columns, zeros after the last."""
    missing = count - x.shape[-1]
    if missing <= 0:
        return shapes.slice_in_dim(x, 0, count, 1, -1)
    config = [(0, 0, 0)] * (x.ndim - 1) + [(0, missing, 0)]
    return shapes.pad(x, shapes.full((), 0, x.dtype), config)
