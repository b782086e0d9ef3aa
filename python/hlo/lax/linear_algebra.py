"""Decompositions, triangular solves and Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlo.frontend import attributes
from hlo.frontend.dtypes import COMPLEX64, FLOAT32, FLOAT64, complex_dtype, is_inexact, real_dtype
from hlo.frontend.operands import dtype_error, shape_error, to_tracer
from hlo.frontend.operation import operation
from hlo.frontend.shape_dtype import ShapeDtype
from hlo.frontend.trace import emit
from hlo.frontend.tracer import ArrayLike, Tracer

FFT_TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")


def _matrices(op: str, value: ArrayLike) -> Tracer:
    x = to_tracer(value)
    if not is_inexact(x.dtype):
        raise dtype_error(op, f"expected floats or complex numbers, found {x.aval}")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise shape_error(op, f"expected square matrices, found {x.aval}")
    return x


@operation
def cholesky(a: ArrayLike, lower: bool = True) -> Tracer:
    """Triangular factor L of A = L L^H (or U of U^H U); NaN where A is not positive definite.

    Only one triangle of A is read; the result's other triangle is zero.
    """
    x = _matrices("hlo.cholesky", a)
    (factor,) = emit("cholesky", (x,), (x.aval,), {"lower": attributes.boolean(lower)})
    from hlo.numpy.manipulation import tril, triu

    return tril(factor) if lower else triu(factor)


@operation
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Tracer:
    """x of op(a) x = b, or of x op(a) = b, where a is triangular and op transposes or not."""
    matrix, right = _matrices("hlo.triangular_solve", a), to_tracer(b)
    matches = right.ndim == matrix.ndim and right.shape[:-2] == matrix.shape[:-2]
    if not matches or right.shape[-2 if left_side else -1] != matrix.shape[-1]:
        raise shape_error(
            "hlo.triangular_solve", f"{matrix.aval} does not fit the right side {right.aval}"
        )
    if matrix.dtype != right.dtype:
        raise dtype_error(
            "hlo.triangular_solve", f"expected one type, found {matrix.aval} and {right.aval}"
        )
    if conjugate_a and not transpose_a:
        from hlo.lax.elementwise import conj

        matrix = conj(matrix)
    kind = "NO_TRANSPOSE"
    if transpose_a:
        kind = "ADJOINT" if conjugate_a else "TRANSPOSE"
    attribute = {
        "left_side": attributes.boolean(left_side),
        "lower": attributes.boolean(lower),
        "unit_diagonal": attributes.boolean(unit_diagonal),
        "transpose_a": attributes.enum("transpose", kind),
    }
    return emit("triangular_solve", (matrix, right), (right.aval,), attribute)[0]


@operation
def fft(x: ArrayLike, fft_type: str, fft_lengths: Sequence[int]) -> Tracer:
    """Discrete Fourier transform over the last 1 to 3 dimensions.

    Args:
        x: complex for ``FFT``, ``IFFT`` and ``IRFFT``, float32 or float64 for ``RFFT``.
        fft_type: ``FFT``, ``IFFT``, ``RFFT`` or ``IRFFT``.
        fft_lengths: extents of the transformed dimensions, in the real domain.
    """
    operand, kind = to_tracer(x), fft_type.upper()
    lengths = tuple(int(n) for n in fft_lengths)
    if kind not in FFT_TYPES or not 1 <= len(lengths) <= min(3, operand.ndim):
        raise shape_error(
            "hlo.fft",
            f"expected one of {FFT_TYPES} over 1 to 3 dimensions, found {fft_type} over {lengths} "
            f"of {operand.aval}",
        )
    real_input = kind == "RFFT"
    expected = (FLOAT32, FLOAT64) if real_input else (COMPLEX64, np.dtype(np.complex128))
    if operand.dtype not in expected:
        names = " or ".join(str(dtype) for dtype in expected)
        raise dtype_error("hlo.fft", f"{kind} expects {names}, found {operand.aval}")
    shape = list(operand.shape)
    half = lengths[-1] // 2 + 1
    needed = [*lengths[:-1], half if kind == "IRFFT" else lengths[-1]]
    if shape[-len(lengths) :] != needed:
        raise shape_error(
            "hlo.fft",
            f"{kind} of lengths {lengths} expects last dimensions {needed}, found {shape}",
        )
    dtype = operand.dtype
    if kind == "RFFT":
        shape[-1], dtype = half, complex_dtype(dtype)
    elif kind == "IRFFT":
        shape[-1], dtype = lengths[-1], real_dtype(dtype)
    attribute = {
        "fft_type": attributes.enum("fft_type", kind),
        "fft_length": attributes.i64s(lengths),
    }
    return emit("fft", (operand,), (ShapeDtype(shape, dtype),), attribute)[0]
