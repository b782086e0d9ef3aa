"""jax.lax.linalg.tridiagonal_solve, also of singular matrices, beside JAX's own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlo
from hlo.importers.stablehlo import from_jax
from hlo.reference.evaluate import evaluate

Array = np.ndarray[Any, Any]


def systems(dtype: str, *shape: int, columns: int = 3) -> list[Array]:
    """Diagonals and right-hand sides; the diagonals' unused elements are zero."""
    source = np.random.default_rng(0)

    def random(*shape: int) -> Array:
        values = source.normal(size=shape)
        return (values + 1j * source.normal(size=shape) if dtype[0] == "c" else values).astype(
            dtype
        )

    lower, diagonal, upper, sides = (*(random(*shape) for _ in range(3)), random(*shape, columns))
    lower[..., 0] = upper[..., -1] = 0
    return [lower, diagonal, upper, sides]


def solve(*arguments: Any, perturb: bool = True) -> jax.Array:
    return lax.linalg.tridiagonal_solve(*arguments, perturb_singular=perturb)


def check(function: Callable[..., Any], arguments: list[Array], tolerance: float) -> None:
    with jax.enable_x64(True):
        want = np.asarray(jax.jit(function)(*arguments))
        program = jax.jit(function).lower(*arguments).as_text()
    (found,) = hlo.compile(program)(*arguments)
    assert found.dtype == want.dtype and np.isfinite(want).all()
    np.testing.assert_allclose(found, want, tolerance, tolerance * np.abs(want).max())


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (2,), (40,), (5, 3, 9)])
@pytest.mark.parametrize("perturb", [True, False])
def test_solutions(dtype: str, shape: tuple[int, ...], perturb: bool) -> None:
    arguments = systems(dtype, *shape)
    arguments[1] += np.array(4, dtype)
    check(lambda *xs: solve(*xs, perturb=perturb), arguments, 1e-4 if dtype in "f4c8" else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_singular_matrices_have_finite_solutions(dtype: str) -> None:
    n = 12
    ones = np.ones((2, n), dtype)
    laplacian = 2 * ones
    laplacian[:, [0, -1]] = 1
    lower, upper = -ones, -ones
    lower[1], upper[1], laplacian[1] = 0, 0, 0  # the second matrix is zero
    sides = systems(dtype, 2, n)[3]
    check(solve, [lower, laplacian, upper, sides], 1e-3 if dtype == "f4" else 1e-11)


def test_many_right_hand_sides_of_one_matrix_and_a_gradient() -> None:
    lower, diagonal, upper, sides = systems("f4", 9)
    diagonal += 4
    many = np.stack([sides, 2 * sides])
    batched = jax.vmap(solve, (None, None, None, 0))
    check(batched, [lower, diagonal, upper, many], 1e-4)
    gradient = jax.grad(lambda b, *a: jnp.sum(jnp.sin(solve(*a, b))))
    check(gradient, [sides, lower, diagonal, upper], 1e-4)


def test_the_reference_evaluator_knows_it() -> None:
    arguments = systems("f4", 2, 8)
    (found,) = evaluate(from_jax(solve, *arguments), arguments)
    want = np.asarray(jax.jit(solve)(*arguments))
    np.testing.assert_allclose(found, want, 1e-3, 1e-3 * np.abs(want).max())


def test_other_types_are_errors() -> None:
    with pytest.raises(hlo.CompileError, match="three diagonals"):
        hlo.compile("""
func.func @main(%a: tensor<4xf16>, %b: tensor<4x2xf16>) -> tensor<4x2xf16> {
  %0 = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%a, %a, %a, %b)
    : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4x2xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}
""")
