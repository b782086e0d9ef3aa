"""Factorisations, solves, transforms and normalisation by their equations and by XLA."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp
from reference_oracles import random_floats, xla

from hlo.reference import lapack, linear_algebra, normalization, spectral
from hlo.reference.perturbed_solve import perturbed_solve

TYPES = (np.float16, np.float32, np.float64, np.complex64, np.complex128)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def positive_definite(batch: tuple[int, ...], size: int, dtype: type) -> np.ndarray:
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    root = random_floats((*batch, size, size), wide)
    return (root @ adjoint(root) + size * np.eye(size)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(dtype: type, lower: bool) -> None:
    matrices = positive_definite((2,), 5, dtype)
    spoiled = matrices.copy()
    other = np.triu_indices(5, 1) if lower else np.tril_indices(5, -1)
    spoiled[:, other[0], other[1]] = 77
    factor = linear_algebra.cholesky(spoiled, lower=lower)
    assert factor.dtype == dtype
    assert not factor[:, other[0], other[1]].any()
    wide = factor.astype(np.complex128)
    product = wide @ adjoint(wide) if lower else adjoint(wide) @ wide
    # The product of two factors, each rounded once, is off by a few units in the last place.
    np.testing.assert_allclose(product, matrices, rtol=0, atol=200 * np.finfo(dtype).eps)


def test_cholesky_of_a_matrix_that_is_not_positive_definite() -> None:
    good = positive_definite((), 3, np.float32)
    bad = good.copy()
    bad[1, 1] = -1
    factors = linear_algebra.cholesky(np.stack([good, bad]), lower=True)
    assert np.isfinite(factors[0]).all()
    assert np.isnan(factors[1][np.tril_indices(3)]).all()
    assert linear_algebra.cholesky(np.zeros((2, 0, 0), np.float32)).shape == (2, 0, 0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("left_side", "lower", "unit_diagonal", "transpose_a"),
    list(
        itertools.product(
            [True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]
        )
    ),
)
def test_triangular_solve_solves(
    dtype: type, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str
) -> None:
    a = (random_floats((2, 4, 4), dtype, scale=0.3) + 2 * np.eye(4)).astype(dtype)
    b = random_floats((2, 4, 3) if left_side else (2, 3, 4), dtype, 1)
    x = linear_algebra.triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        unit_diagonal=unit_diagonal,
        transpose_a=transpose_a,
    )
    wide = a.astype(np.complex128)
    matrix = np.tril(wide) if lower else np.triu(wide)
    if unit_diagonal:
        matrix[:, range(4), range(4)] = 1
    matrix = {
        "NO_TRANSPOSE": matrix,
        "TRANSPOSE": np.swapaxes(matrix, -1, -2),
        "ADJOINT": adjoint(matrix),
    }[transpose_a]
    product = matrix @ x if left_side else x @ matrix
    assert x.dtype == dtype
    np.testing.assert_allclose(product, b, rtol=0, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lengths", [(8,), (7,), (1,), (4, 6), (2, 3, 5)])
def test_transforms_match_xla_and_invert(dtype: type, lengths: tuple[int, ...]) -> None:
    tolerance = 500 * np.finfo(dtype).eps
    real = random_floats((2, *lengths), dtype)
    half = spectral.fft(real, fft_type="RFFT", fft_length=lengths)
    assert half.shape == (2, *lengths[:-1], lengths[-1] // 2 + 1)
    back = spectral.fft(half, fft_type="IRFFT", fft_length=lengths)
    np.testing.assert_allclose(back, real, atol=tolerance)
    complex_ = (real + 1j * real[..., ::-1]).astype(half.dtype)
    whole = spectral.fft(complex_, fft_type="FFT", fft_length=lengths)
    (expected,) = xla(lambda x: lax.fft(x, lax.FftType.FFT, lengths), complex_)
    np.testing.assert_allclose(whole, expected, atol=tolerance)
    np.testing.assert_allclose(
        spectral.fft(whole, fft_type="IFFT", fft_length=lengths), complex_, atol=tolerance
    )
    assert half.dtype == whole.dtype == expected.dtype


def test_transform_of_nothing() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert spectral.fft(empty, fft_type="RFFT", fft_length=(4,)).shape == (0, 3)


@pytest.mark.parametrize("feature_index", [0, 1, 2])
def test_batch_norm_training_and_its_gradient(feature_index: int) -> None:
    operand = random_floats((4, 5, 6), np.float64, 1)
    features = operand.shape[feature_index]
    scale, offset = (
        random_floats((features,), np.float64, 2),
        random_floats((features,), np.float64, 3),
    )
    grad_output = random_floats((4, 5, 6), np.float64, 4)
    axes = tuple(d for d in range(3) if d != feature_index)
    shape = [1, 1, 1]
    shape[feature_index] = features

    def normalize(x: jax.Array, s: jax.Array, o: jax.Array) -> jax.Array:
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-3) * s.reshape(shape) + o.reshape(shape)

    options = {"epsilon": 1e-3, "feature_index": feature_index}
    output, mean, variance = normalization.batch_norm_training(operand, scale, offset, **options)
    expected, *gradients = xla(
        lambda x, s, o, g: (normalize(x, s, o), *jax.vjp(normalize, x, s, o)[1](g)),
        operand,
        scale,
        offset,
        grad_output,
    )
    np.testing.assert_allclose(output, expected, rtol=1e-9)
    np.testing.assert_allclose(mean, operand.mean(axes))
    np.testing.assert_allclose(variance, operand.var(axes))
    found = normalization.batch_norm_grad(operand, scale, mean, variance, grad_output, **options)
    for left, right in zip(found, gradients, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-12)
    inference = normalization.batch_norm_inference(
        operand, scale, offset, mean, variance, **options
    )
    np.testing.assert_allclose(inference, output, rtol=1e-9)


def call(target: str, operands: list[np.ndarray], results: list[tuple], **config: str | int):
    numbers = {key: ord(v) if isinstance(v, str) else v for key, v in config.items()}
    return lapack.lapack_call(
        operands,
        target=target,
        config=numbers,
        result_shapes=[shape for shape, _ in results],
        result_dtypes=[np.dtype(dtype) for _, dtype in results],
    )


@pytest.mark.parametrize(("letter", "dtype"), [("s", np.float32), ("z", np.complex128)])
def test_lapack_factorisations_multiply_back(letter: str, dtype: type) -> None:
    a = random_floats((2, 4, 4), dtype)
    tolerance = 200 * np.finfo(dtype).eps
    real = np.empty(0, dtype).real.dtype
    square, vector = ((2, 4, 4), dtype), ((2, 4), dtype)
    lu, pivots, info = call(
        f"lapack_{letter}getrf_ffi", [a], [square, ((2, 4), np.int32), ((2,), np.int32)]
    )
    rows = np.broadcast_to(np.arange(4), (2, 4)).copy()
    for batch in range(2):
        for i, pivot in enumerate(pivots[batch] - 1):
            rows[batch, [i, pivot]] = rows[batch, [pivot, i]]
    lower = np.tril(lu, -1) + np.eye(4)
    permuted = np.take_along_axis(a, rows[..., None], axis=1)
    np.testing.assert_allclose(lower @ np.triu(lu), permuted, atol=tolerance)
    assert not info.any()

    qr, tau = call(f"lapack_{letter}geqrf_ffi", [a], [square, vector])
    generate = "ungqr" if np.dtype(dtype).kind == "c" else "orgqr"
    (q,) = call(f"lapack_{letter}{generate}_ffi", [qr, tau], [square])
    np.testing.assert_allclose(q @ np.triu(qr), a, atol=tolerance)

    _, s, u, vt, _ = call(
        f"lapack_{letter}gesdd_ffi",
        [a],
        [square, ((2, 4), real), square, square, ((2,), np.int32)],
        mode="S",
    )
    np.testing.assert_allclose((u * s[:, None, :]) @ vt, a, atol=tolerance)


def test_lapack_eigenvectors() -> None:
    a = random_floats((2, 4, 4), np.float64)
    complex_ = ((2, 4, 4), np.complex128)
    real, imaginary, left, right, info = call(
        "lapack_dgeev_ffi",
        [a],
        [((2, 4), np.float64)] * 2 + [complex_, complex_, ((2,), np.int32)],
        compute_left="N",
        compute_right="V",
    )
    values = real + 1j * imaginary
    np.testing.assert_allclose(a @ right, right * values[:, None, :], atol=1e-12)
    assert not left.any()
    assert not info.any()
    symmetric = a + np.swapaxes(a, 1, 2)
    v, w, _ = call(
        "lapack_dsyevd_ffi",
        [symmetric],
        [((2, 4, 4), np.float64), ((2, 4), np.float64), ((2,), np.int32)],
        mode="V",
        uplo="L",
    )
    np.testing.assert_allclose(symmetric @ v, v * w[:, None, :], atol=1e-12)


def test_lapack_tridiagonal_solve() -> None:
    lower, diagonal, upper = (random_floats((5,), np.float64, seed) for seed in range(3))
    diagonal = diagonal + 8
    b = random_floats((5, 2), np.float64, 4)
    matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    vector = ((5,), np.float64)
    *_, x, info = call(
        "lapack_dgtsv_ffi",
        [lower, diagonal, upper, b],
        [vector, vector, vector, ((5, 2), np.float64), ((), np.int32)],
    )
    np.testing.assert_allclose(matrix @ x, b, atol=1e-12)
    assert info == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_perturbed_tridiagonal_solve(dtype: type, n: int) -> None:
    lower, diagonal, upper = (random_floats((2, n), dtype, seed) for seed in range(3))
    b = random_floats((2, n, 3), dtype, 4)
    x = perturbed_solve(lower, diagonal, upper, b)
    matrices = np.zeros((2, n, n), dtype)
    for k in range(n):
        matrices[:, k, k] = diagonal[:, k]
        if k:
            matrices[:, k, k - 1], matrices[:, k - 1, k] = lower[:, k], upper[:, k - 1]
    accuracy = 200 * np.finfo(dtype).eps * np.abs(x).max(initial=1)
    np.testing.assert_allclose(matrices @ x, b, atol=accuracy)


def test_perturbed_tridiagonal_solve_of_a_singular_matrix_is_its_null_vector() -> None:
    ones = np.ones(6)
    laplacian = np.array([1.0, 2, 2, 2, 2, 1])
    x = perturbed_solve(-ones, laplacian, -ones, random_floats((6, 2), np.float64, 1))
    assert np.isfinite(x).all() and np.abs(x).min() > 1e12
    np.testing.assert_allclose(x / x[0], np.ones((6, 2)), rtol=1e-10)
    zeros = np.zeros(3)
    x = perturbed_solve(zeros, zeros, zeros, np.ones((3, 1)))
    assert np.isfinite(x).all() and x.all()
