"""Functions of `hlo.lax` that `hlo.numpy` does not reach, against those of `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import hlo
import hlo.numpy as hnp
from hlo import lax

RNG = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


X = floats(2, 5, 6)
IMAGE = floats(2, 8, 9, 4)
KERNEL = floats(3, 2, 4, 6)
NHWC = ("NHWC", "HWIO", "NHWC")
GROUPS = np.array([1, 3], np.int32)
BITS = np.array([0, 1, 0x7FFFFFFF, -1, -(2**31), 12345], np.int32)


def _add(a: Any, b: Any) -> Any:
    return a + b


CASES: dict[str, Callable[[Any], Any]] = {
    "dynamic_slice": lambda n: n.dynamic_slice(X, (np.int32(1), 3, -2), (1, 4, 3)),
    "dynamic_update_slice": lambda n: n.dynamic_update_slice(X, X[:, :2, :2] * 2, (0, 9, 1)),
    "dynamic_in_dim": lambda n: (
        n.dynamic_slice_in_dim(X, -2, 2, 1),
        n.dynamic_index_in_dim(X, 3, 1, keepdims=False),
        n.dynamic_update_index_in_dim(X, X[:, 0] * 3, -1, 1),
        n.dynamic_update_slice_in_dim(X, X[:, :2], 2, 1),
    ),
    "pad": lambda n: n.pad(X, np.float32(7), ((0, 1, 0), (-1, 2, 1), (2, -3, 2))),
    "slice": lambda n: n.slice(X, (0, 1, 2), (2, 5, 6), (1, 2, 3)),
    "broadcast_in_dim": lambda n: n.broadcast_in_dim(X[0], (5, 3, 6), (0, 2)),
    "iota": lambda n: (n.iota(np.int8, 5), n.broadcasted_iota(np.float32, (2, 3), 1)),
    "clamp": lambda n: n.clamp(np.float32(-1), X, np.float32(1)),
    "reduce_precision": lambda n: n.reduce_precision(X, 5, 3),
    "bitcast": lambda n: (
        n.bitcast_convert_type(X, np.int32),
        n.bitcast_convert_type(BITS, np.uint8),
        n.bitcast_convert_type(BITS.view(np.int16).reshape(6, 2), np.float32),
    ),
    "bits": lambda n: (n.clz(np.abs(BITS[:4])), n.population_count(BITS), n.bitwise_not(BITS)),
    "shifts": lambda n: [
        getattr(n, name)(BITS, np.array([0, 1, 31, 32, 40, 5], np.int32))
        for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    ],
    "integer_division": lambda n: (
        n.div(BITS, np.array([3, -1, 7, 5, -1, 10], np.int32)),
        n.rem(BITS, np.array([3, -1, 7, 5, -1, 10], np.int32)),
    ),
    "special": lambda n: (
        n.erf(X),
        n.erfc(X),
        n.erf_inv(X / 2.1),
        n.lgamma(X + 3),
        n.digamma(X + 3),
        n.logistic(X),
        n.bessel_i1e(X),
    ),
    "gamma": lambda n: (n.polygamma(np.float32(2) + 0 * X, X + 3), n.zeta(X + 4, X + 3)),
    "rounding": lambda n: (
        n.round_even(X * 3) if n is lax else jax.numpy.round(X * 3),
        n.rsqrt(X + 3),
        n.is_finite(X),
        n.neg(X),
        n.convert_element_type(X, np.int8),
    ),
    "comparisons": lambda n: (
        n.eq(X, X),
        n.ne(X, X),
        n.gt(X, 0 * X),
        n.le(X, 0 * X),
        n.sub(X, 2 * X),
        n.pow(X + 3, X),
        n.atan2(X, X + 1),
    ),
    "named_reductions": lambda n: (
        n.reduce_sum(X, (0,)),
        n.reduce_prod(X, (1,)),
        n.reduce_max(X, (2,)),
        n.reduce_min(X, (0, 1)),
        n.reduce_and(BITS, (0,)),
        n.reduce_or(BITS, (0,)),
        n.reduce_xor(BITS, (0,)),
    ),
    "rev": lambda n: (n.rev(X, (0, 2)), n.slice_in_dim(X, 1, -1, 2, 1)),
    "reduce": lambda n: n.reduce(X, np.float32(0), _add, (0, 2)),
    "reduce_pair": lambda n: n.reduce(
        (X, X * 2), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)
    ),
    "reduce_bits": lambda n: n.reduce(BITS, np.int32(-1), lambda a, b: a & b, (0,)),
    "reduce_window": lambda n: (
        n.reduce_window(X, np.float32(0), _add, (1, 2, 3), (1, 1, 2), "VALID"),
        n.reduce_window(X, np.float32(-np.inf), n.max, (2, 3, 1), (1, 2, 1), "SAME"),
        n.reduce_window(
            X,
            np.float32(0),
            _add,
            (1, 2, 2),
            (1, 1, 1),
            ((0, 0), (1, 0), (-1, 2)),
            (1, 2, 1),
            (1, 1, 2),
        ),
    ),
    "dot_general": lambda n: (
        n.dot_general(X, X, (((2,), (2,)), ((0,), (0,)))),
        n.dot_general(X, X, (((0, 1), (0, 1)), ((), ()))),
        n.dot(X[0], X[0].T.copy()),
    ),
    "ragged_dot": lambda n: n.ragged_dot(X[0], X[:, :3].swapaxes(1, 2).copy(), GROUPS),
    "dot_general_integers": lambda n: n.dot_general(
        BITS.astype(np.int8),
        BITS.astype(np.int8),
        (((0,), (0,)), ((), ())),
        preferred_element_type=np.int32,
    ),
    "conv": lambda n: n.conv_general_dilated(IMAGE, KERNEL, (1, 2), "SAME", dimension_numbers=NHWC),
    "conv_dilated": lambda n: n.conv_general_dilated(
        IMAGE, KERNEL, (1, 1), ((1, 2), (0, 1)), (2, 1), (1, 2), NHWC
    ),
    "conv_grouped": lambda n: n.conv_general_dilated(
        IMAGE, KERNEL[:, :, :2], (1, 1), "VALID", dimension_numbers=NHWC, feature_group_count=2
    ),
    "conv_batch_grouped": lambda n: n.conv_general_dilated(
        IMAGE, KERNEL, (1, 1), "VALID", dimension_numbers=NHWC, batch_group_count=2
    ),
    "conv_channels_first": lambda n: n.conv(
        IMAGE.transpose(0, 3, 1, 2), KERNEL.transpose(3, 2, 0, 1), (2, 1), "VALID"
    ),
    "conv_transpose": lambda n: [
        n.conv_transpose(IMAGE, KERNEL, (2, 3), p, dimension_numbers=NHWC)
        for p in ("SAME", "VALID", ((1, 2), (0, 1)))
    ],
    "sort_keys": lambda n: n.sort((BITS % 3, X[0, 0], BITS), num_keys=2),
    "sort_key_val": lambda n: n.sort_key_val(X, X * 2, 1),
    "top_k": lambda n: n.top_k(X, 3),
    "triangular_solve": lambda n: getattr(n, "linalg", n).triangular_solve(
        X[:, :5, :5] + 5 * np.eye(5, dtype=np.float32), X, left_side=True, lower=True
    ),
    "optimization_barrier": lambda n: n.optimization_barrier((X, {"a": X + 1})),
    "associative_scan": lambda n: n.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (X, X + 1), axis=1
    ),
    "associative_scan_reversed": lambda n: n.associative_scan(_add, X, reverse=True, axis=2),
    "arg": lambda n: (n.argmax(X, 1, np.int32), n.argmin(X, 2, np.int32)),
    "complex": lambda n: (n.complex(X, X * 2), n.conj(n.complex(X, X)), n.real(n.complex(X, X))),
    "nextafter": lambda n: n.nextafter(X, np.float32(3) + X),
    "integer_pow": lambda n: (n.integer_pow(X, 5), n.integer_pow(X, -3), n.integer_pow(BITS, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    found = hlo.tree.leaves(hlo.jit(lambda: CASES[name](lax))())
    expected = jax.tree.leaves(jax.jit(lambda: CASES[name](jax.lax))())
    assert len(found) == len(expected)
    for ours, theirs in zip(found, map(np.asarray, expected), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=3e-5)


def test_rounding_away_from_zero() -> None:
    x = np.array([-2.5, -0.5, 0.5, 1.5, 2.5, -0.2], np.float32)
    np.testing.assert_array_equal(lax.round_afz(x), [-3, -1, 1, 2, 3, -0.0])


def test_select_and_scatter() -> None:
    x, source = X[0], floats(2, 3)
    found = lax.select_and_scatter(
        x, lax.ge, (2, 2), (2, 2), ((0, 0), (0, 0)), source, np.float32(0), lax.add
    )
    expected = np.zeros_like(x)
    for i in range(2):
        for j in range(3):
            window = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            row, column = np.unravel_index(window.argmax(), (2, 2))
            expected[2 * i + row, 2 * j + column] += source[i, j]
    np.testing.assert_allclose(found, expected)


def test_gather_and_scatter_with_dimension_numbers() -> None:
    indices = np.array([[1, 2], [0, 3], [9, 9]], np.int32)
    numbers = lax.GatherDimensionNumbers((1,), (0, 1), (0, 1))
    found = lax.gather(X, indices, numbers, (1, 1, 6))
    np.testing.assert_array_equal(found, [X[1, 2], X[0, 3], X[1, 4]])  # clamped
    scatter = lax.ScatterDimensionNumbers((1,), (0, 1), (0, 1))
    found = lax.scatter(X, indices, np.ones((3, 6), np.float32), scatter, "add")
    expected = X.copy()
    expected[1, 2] += 1
    expected[0, 3] += 1  # the third is dropped
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY", "PHILOX"])
def test_rng_bit_generator(algorithm: str) -> None:
    state = np.array([1, 2], np.uint64)
    first = lax.rng_bit_generator(state, (5,), np.uint32, algorithm)
    again = lax.rng_bit_generator(state, (5,), np.uint32, algorithm)
    np.testing.assert_array_equal(first[1], again[1])
    follower = lax.rng_bit_generator(first[0], (5,), np.uint32, algorithm)
    assert (follower[1] != first[1]).any()


@pytest.mark.parametrize(
    "dtype",
    [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int8, np.uint64, ml_dtypes.int4],
)
def test_element_types_go_through(dtype: Any) -> None:
    x = np.array([0, 1, 2, 3, 5], np.float32).astype(dtype)
    table = np.arange(100).astype(np.float32).astype(dtype) if dtype != ml_dtypes.int4 else x
    first = table[:5].astype(np.float32)

    def f(x: Any) -> Any:
        captured = lax.slice_in_dim(lax.convert_element_type(table, dtype), 0, 5)
        return lax.add(x, x), lax.max(x, 2), x + 1, hnp.max(x), captured + x[:1]

    found = hlo.jit(f)(x)
    # Integers wrap; what NumPy makes of floats that an integer type has not is its own affair.
    wide = x.astype(int if dtype in (np.int8, np.uint64, ml_dtypes.int4) else np.float32)
    first = first.astype(wide.dtype)
    results = (wide + wide, np.maximum(wide, 2), wide + 1, wide.max(), first + wide[0])
    for ours, theirs in zip(found, results, strict=True):
        assert ours.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(ours, theirs.astype(dtype))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: lax.dot_general(X, X, (((1,), (2,)), ((), ()))), "contracting dimensions"),
        (lambda: lax.ragged_dot(X[0], X, GROUPS), r"expected \(m, k\), \(groups, k, n\)"),
        (lambda: lax.ragged_dot(X[0], X[:1].mT, GROUPS), "expected 1 group sizes"),
        (lambda: lax.dynamic_slice(X, (0, 0), (1, 1, 1)), "expected 3 start indices, found 2"),
        (lambda: lax.dynamic_slice(X, (0, 0, 0), (1, 1, 7)), "expected slice sizes within"),
        (lambda: lax.pad(X, 0.0, ((0, 0, -1),) * 3), "interior >= 0"),
        (lambda: lax.transpose(X, (0, 0, 1)), "expected a permutation"),
        (lambda: lax.conv(IMAGE, KERNEL, (1, 1), "VALID"), "input features"),
        (lambda: lax.conv(X, X, (1,), "MIDDLE"), "expected VALID, SAME"),
        (lambda: lax.reduce(X, np.ones(2, np.float32), _add, (0,)), "an initial value float32"),
        (
            lambda: lax.reduce(X, np.float32(0), lambda a, b: (a, b), (0,)),
            "the computation to give",
        ),
        (lambda: lax.fft(X, "RFFT", (7,)), "expects last dimensions"),
        (lambda: lax.cholesky(X), "expected square matrices"),
        (lambda: lax.top_k(X, 7), "cannot take 7"),
        (lambda: lax.sort((X, X[0])), "operands of one shape"),
        (lambda: lax.select(X, X, X), "expected a bool predicate"),
        (lambda: lax.complex(BITS, BITS), "float32 or float64 parts"),
        (lambda: lax.bitcast_convert_type(X, np.float64), "expected a last dimension of 2"),
        (lambda: lax.lt(X + 1j, X + 1j), "complex numbers have no order"),
    ],
)
def test_errors(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(hlo.CompileError, match=message) as caught:
        hlo.jit(function).lower()
    assert "test_lax.py" in str(caught.value)
