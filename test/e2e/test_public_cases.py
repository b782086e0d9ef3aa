"""Programs on which a leading compiler was once wrong, each as a kind: through `hlo.compile`,
`hlo.jit` and the importers, against NumPy or JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import hlo
import hlo.numpy as hnp
from hlo import lax as hlax

F32, F64 = np.float32, np.float64
Array = np.ndarray[Any, Any]


def run(f: Callable[..., Any], *arguments: Any, x64: bool = False) -> Array:
    """The first result of a JAX function, compiled here."""
    with jax.enable_x64(x64):
        program = hlo.from_jax(f, *arguments)
    return hlo.compile(program)(*arguments)[0]


def run_text(text: str, *arguments: Any) -> tuple[Array, ...]:
    """The results of the body of `@main`, in hlo."""
    return hlo.compile(text)(*arguments)


# Starts and indices


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32])
@pytest.mark.parametrize(("start", "first"), [(12, 5), (5, 5), (6, 5), (0, 0), (3, 3)])
def test_start_of_dynamic_slice_is_clamped(dtype: type, start: int, first: int) -> None:
    x = 10 * np.arange(9, dtype=np.int32)

    def f(x: Any, i: Any) -> Any:
        return lax.dynamic_slice(jnp.roll(x, 4), (i,), (4,))

    expected = np.roll(x, 4)[first : first + 4]
    np.testing.assert_array_equal(run(f, x, dtype(start)), expected)
    np.testing.assert_array_equal(
        hlo.jit(lambda x, i: hlax.dynamic_slice(hnp.roll(x, 4), (i,), (4,)))(x, dtype(start)),
        expected,
    )


def test_start_of_the_seed_case() -> None:
    x = 10 * np.arange(9, dtype=np.int32)
    found = run(lambda x, i: lax.dynamic_slice(jnp.roll(x, 4), (i,), (4,)), x, np.int32(12))
    assert found.tolist() == [0, 10, 20, 30] or found.tolist() == np.roll(x, 4)[5:9].tolist()
    assert found.tolist() == [10 * k for k in range(1, 5)]


@pytest.mark.parametrize(("name", "dtype"), [("ui8", np.uint8), ("ui16", np.uint16)])
@pytest.mark.parametrize("start", [0, 127, 128, 199])
def test_unsigned_start_of_dynamic_slice(name: str, dtype: type, start: int) -> None:
    text = f"""
    func.func @main(%x: tensor<200xi32>, %i: tensor<{name}>) -> tensor<1xi32> {{
      %0 = "hlo.dynamic_slice"(%x, %i) {{slice_sizes = array<i64: 1>}}
        : (tensor<200xi32>, tensor<{name}>) -> tensor<1xi32>
      return %0 : tensor<1xi32>
    }}"""
    found = run_text(text, np.arange(200, dtype=np.int32), dtype(start))[0]
    assert found.tolist() == [start]


@pytest.mark.parametrize("start", [-7, -1, 0, 128, 198, 255])
def test_unsigned_start_of_dynamic_update_slice(start: int) -> None:
    x = np.zeros(200, np.int32)
    u = np.array([7, 8], np.int32)
    i = np.uint8(start % 256)
    found = run(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), x, u, i)
    expected = x.copy()
    at = min(int(i), 198)
    expected[at : at + 2] = u
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16, np.int8])
def test_gather_of_a_captured_constant_keeps_its_order(dtype: type) -> None:
    rows = np.stack([np.arange(5), np.arange(5)]).astype(dtype)
    columns = np.arange(5)
    f = jax.jit(lambda: jnp.asarray(rows)[:, columns] + dtype(1))
    expected = np.stack([np.arange(1, 6)] * 2).astype(dtype)
    np.testing.assert_array_equal(run(f), expected)
    own = hlo.jit(lambda one: hnp.asarray(rows)[:, hnp.asarray(columns)] + one)
    np.testing.assert_array_equal(own(dtype(1)), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_along_each_axis_of_a_constant(axis: int) -> None:
    table = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    indices = np.array([2, 0, 1, 1])
    found = run(lambda: jnp.take(jnp.asarray(table), indices, axis=axis))
    np.testing.assert_array_equal(found, np.take(table, indices, axis))


# Buffers that live at the same time


def test_two_updates_of_one_array_live_at_once() -> None:
    x = np.arange(12, dtype=F32).reshape(3, 4)
    u = np.full((1, 4), 9, F32)

    def f(x: Any, u: Any) -> Any:
        a = lax.dynamic_update_slice(x, u, (0, 0))
        b = lax.dynamic_update_slice(x, 2 * u, (2, 0))
        return a, b, a + b, x

    a, b = x.copy(), x.copy()
    a[0], b[2] = 9, 18
    results = hlo.compile(hlo.from_jax(f, x, u))(x, u)
    for found, expected in zip(results, (a, b, a + b, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert len({r.__array_interface__["data"][0] for r in results}) == 4


@pytest.mark.parametrize("size", [5, 16, 33])
def test_chains_of_pads_and_slices_summed(size: int) -> None:
    x = np.random.default_rng(size).standard_normal((size, size)).astype(F32)

    def f(x: Any, np_: Any) -> Any:
        total = x * 0
        for k in range(1, 5):
            left = np_.concatenate([np_.zeros((size, k), F32), x[:, : size - k]], axis=1)
            down = np_.concatenate([x[k:], np_.zeros((k, size), F32)], axis=0)
            total = total + left * k - np_.concatenate([down[: size // 2], left[size // 2 :]])
        return total

    np.testing.assert_allclose(run(lambda x: f(x, jnp), x), f(x, np), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hlo.jit(lambda x: f(x, hnp))(x), f(x, np), rtol=1e-5, atol=1e-5)


def test_swapped_loop_carries_share_no_buffer() -> None:
    def f(a: Any, b: Any) -> Any:
        return lax.fori_loop(0, 5, lambda i, s: (s[1] + i, s[0].at[i].set(-1.0)), (a, b))

    a, b = np.arange(6, dtype=F32), np.arange(6, dtype=F32) * 10
    expected = [np.asarray(r) for r in jax.jit(f)(a, b)]
    for found, right in zip(hlo.compile(hlo.from_jax(f, a, b))(a, b), expected, strict=True):
        np.testing.assert_array_equal(found, right)


# Random bits


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,)])
def test_batched_threefry_is_bit_exact(shape: tuple[int, ...]) -> None:
    keys = np.array([[0, 42], [1, 2], [2**32 - 1, 7]], np.uint32)

    def draw(key: Any) -> Any:
        first, second = jax.random.split(key)
        bits = jax.random.bits(first, shape)
        return bits, jax.random.uniform(second, shape), jax.random.fold_in(key, 3)

    expected = [np.asarray(r) for r in jax.jit(jax.vmap(draw))(keys)]
    results = hlo.compile(hlo.from_jax(jax.vmap(draw), keys))(keys)
    for found, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found.view(np.uint32), right.view(np.uint32))


def test_normal_draws_in_a_while_loop() -> None:
    def walk(key: Any, x: Any) -> Any:
        def step(state: Any) -> Any:
            i, key, x = state
            key, sub = jax.random.split(key)
            return i + 1, key, x + jax.random.normal(sub, (4,))

        return lax.while_loop(lambda s: s[0] < 10, step, (0, key, x))

    key, x = np.array([[0, 1], [5, 6]], np.uint32), np.zeros((2, 4), F32)
    program = hlo.from_jax(jax.vmap(walk), key, x)
    found = hlo.compile(program)(key, x)
    expected = [np.asarray(r) for r in jax.jit(jax.vmap(walk))(key, x)]
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5, atol=1e-6)


# Gradients


@pytest.mark.parametrize("shape", [(5,), (3, 7), (2, 3, 4)])
@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_through_cumsum(shape: tuple[int, ...], reverse: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(F32)
    n = shape[-1]
    triangle = np.tril(np.ones((n, n), F32)) if reverse else np.triu(np.ones((n, n), F32))

    def by_cumsum(x: Any) -> Any:
        return jnp.sum(jnp.sin(lax.cumsum(x, axis=len(shape) - 1, reverse=reverse)) ** 2)

    def by_matmul(x: Any) -> Any:
        return jnp.sum(jnp.sin(x @ triangle) ** 2)

    found = run(jax.grad(by_cumsum), x)
    np.testing.assert_allclose(found, run(jax.grad(by_matmul), x), rtol=2e-5, atol=1e-5)


# Special values


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_clamp_of_nan_is_nan(dtype: str) -> None:
    type_ = np.dtype(getattr(ml_dtypes, dtype, dtype)).type
    x = np.array([np.nan, -1, 0.5, 2, np.inf, -np.inf], type_)
    found = run(lambda x: lax.clamp(type_(0), x, type_(1)), x, x64=dtype == "float64")
    np.testing.assert_array_equal(found.astype(F64), [np.nan, 0, 0.5, 1, 1, 0])
    bounds = run(lambda lo, x: lax.clamp(lo, x, type_(1)), type_(np.nan), x, x64=dtype == "float64")
    assert np.isnan(bounds.astype(F64)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("lanes", [1, 3, 16, 37])
def test_maximum_and_minimum_carry_nan(dtype: str, lanes: int) -> None:
    type_ = np.dtype(getattr(ml_dtypes, dtype, dtype)).type
    x = np.full(lanes, -0.09, type_)
    x64 = dtype == "float64"
    for op in (jnp.maximum, jnp.minimum):
        assert np.isnan(run(lambda x, op=op: op(x, jnp.sqrt(x)), x, x64=x64).astype(F64)).all()
        assert np.isnan(run(lambda x, op=op: op(jnp.sqrt(x), x), x, x64=x64).astype(F64)).all()
        folded = run(lambda op=op: op(jnp.asarray(x), jnp.sqrt(jnp.asarray(x))), x64=x64)
        assert np.isnan(folded.astype(F64)).all()


@pytest.mark.parametrize("axis", [None, 0])
def test_argmax_of_an_empty_array_is_an_error(axis: int | None) -> None:
    for op in (hnp.argmax, hnp.argmin):
        with pytest.raises(ValueError, match="no element"):
            hlo.jit(lambda x, op=op: op(x, axis))(np.zeros((0, 3), F32))


@pytest.mark.parametrize("dtype", [F32, F64, np.float16])
def test_zero_times_nan_is_nan(dtype: type) -> None:
    a, b = np.ones(10, dtype), np.ones(10, dtype)
    b[3] = np.nan
    x64 = dtype is F64
    assert np.isnan(run(lambda a, b: jnp.mean(a) + 0 * jnp.mean(b), a, b, x64=x64))
    assert np.isnan(run(lambda b: b * 0, b, x64=x64)[3])
    assert np.isnan(run(lambda b: 0 / b, b, x64=x64)[3])
    infinite = run(lambda b: b * 0, np.array([np.inf, -np.inf, -1], dtype), x64=x64)
    assert np.isnan(infinite[:2]).all()
    assert np.signbit(infinite[2])


@pytest.mark.parametrize("dtype", [F32, F64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("lanes", [1, 2, 19])
def test_ceil_keeps_the_sign_of_zero(dtype: type, lanes: int) -> None:
    x = np.tile(np.array([-0.25, -0.0, 0.0, 0.25, -1.5], dtype), lanes)
    expected = np.tile(np.array([-0.0, -0.0, 0.0, 1.0, -1.0]), lanes)
    for values in (run(jnp.ceil, x, x64=True), run(lambda: jnp.ceil(jnp.asarray(x)), x64=True)):
        np.testing.assert_array_equal(values.astype(F64), expected)
        np.testing.assert_array_equal(np.signbit(values.astype(F64)), np.signbit(expected))
    rounded = run(jnp.round, x, x64=True).astype(F64)
    assert np.signbit(rounded[:2]).all()


@pytest.mark.parametrize("lanes", [1, 16, 33])
def test_products_of_subnormals(lanes: int) -> None:
    x = np.full(lanes, 100, F32)
    found = run(lambda x: jnp.exp(x) * jnp.exp(-x), x)
    assert np.isinf(found).all()
    small = np.full(lanes, 1e-40, F32)
    np.testing.assert_array_equal(run(lambda x: x + x, small), small + small)
    np.testing.assert_array_equal(run(lambda x: x * F32(0.5), small), small * F32(0.5))
    np.testing.assert_allclose(run(jnp.log, small), np.full(lanes, -92.1034), rtol=1e-6)
    np.testing.assert_allclose(run(jnp.sqrt, small), np.sqrt(small), rtol=1e-6)


def test_sum_of_products_is_not_contracted() -> None:
    a, b, x = F32(1e20), F32(-1e20), F32(1e10)
    assert run(lambda a, b, x: a * x + b * x, a, b, x) == 0.0
    lanes = [np.full(17, v, F32) for v in (a, b, x)]
    np.testing.assert_array_equal(run(lambda a, b, x: a * x + b * x, *lanes), np.zeros(17, F32))
    # A fused multiply-add would leave the rounding error of the product.
    x, y = F32(1 + 2**-12), F32(1 - 2**-12)
    assert run(lambda x, y, z: x * y - z, x, y, x * y) == 0.0


@pytest.mark.parametrize("lanes", [1, 40])
def test_atan2_of_zeros_made_of_bits(lanes: int) -> None:
    p = np.arange(lanes, dtype=np.int32) + 123456

    def f(p: Any) -> Any:
        y = lax.bitcast_convert_type(p ^ p, jnp.float32)
        return y, jnp.arctan2(y, y), jnp.arctan2(-y, -y)

    y, plus, minus = hlo.compile(hlo.from_jax(f, p))(p)
    np.testing.assert_array_equal(y, np.zeros(lanes, F32))
    np.testing.assert_array_equal(plus, np.zeros(lanes, F32))
    assert not np.signbit(plus).any()
    np.testing.assert_allclose(minus, np.full(lanes, -np.pi), rtol=1e-7)


# Types


@pytest.mark.parametrize(("dtype", "n"), [(F64, 16385), (F32, 32769), (F32, 1023)])
def test_vmapped_square_of_rows(dtype: type, n: int) -> None:
    rows = np.zeros((n, 3), dtype)
    rows[:, 0] = np.arange(n)

    def f(rows: Any) -> Any:
        return jax.vmap(lambda row: jnp.sum((jnp.eye(3, dtype=dtype) @ row) ** 2))(rows)

    found = run(f, rows, x64=dtype is F64)
    np.testing.assert_array_equal(found, np.arange(n).astype(dtype) ** 2)
    assert found[-1] == float(n - 1) ** 2


@pytest.mark.parametrize(
    ("name", "dtype"), [("i32", np.int32), ("ui8", np.uint8), ("i64", np.int64)]
)
@pytest.mark.parametrize(("base", "exponent"), [(0, 64), (1, 64), (2, 64), (0, 0), (3, 5), (2, 7)])
def test_integer_power(name: str, dtype: type, base: int, exponent: int) -> None:
    bits = np.dtype(dtype).itemsize * 8
    expected = pow(base, exponent, 2**bits)
    if exponent > np.iinfo(dtype).max:
        return
    function = f"""
    func.func @main(%x: tensor<{name}>, %y: tensor<{name}>) -> (tensor<{name}>, tensor<{name}>) {{
      %0 = hlo.power %x, %y : tensor<{name}>
      %a = hlo.constant dense<{base}> : tensor<{name}>
      %b = hlo.constant dense<{exponent}> : tensor<{name}>
      %1 = hlo.power %a, %b : tensor<{name}>
      return %0, %1 : tensor<{name}>, tensor<{name}>
    }}"""
    found = run_text(function, dtype(base), dtype(exponent))
    assert [int(r) % 2**bits for r in found] == [expected, expected]


def test_int4_to_int8_keeps_its_values() -> None:
    values = np.arange(-8, 8).astype(ml_dtypes.int4)
    listed = ", ".join(str(v) for v in range(-8, 8))
    text = f"""
    func.func @main(%x: tensor<16xi4>) -> (tensor<16xi8>, tensor<16xi8>) {{
      %c = hlo.constant dense<[{listed}]> : tensor<16xi4>
      %0 = hlo.convert %x : (tensor<16xi4>) -> tensor<16xi8>
      %1 = hlo.convert %c : (tensor<16xi4>) -> tensor<16xi8>
      return %0, %1 : tensor<16xi8>, tensor<16xi8>
    }}"""
    for found in run_text(text, values):
        np.testing.assert_array_equal(found, np.arange(-8, 8, dtype=np.int8))


def test_bitcast_between_ui8_and_pairs_of_i4() -> None:
    octets = np.arange(256, dtype=np.uint8)
    low = ((octets & 15).astype(np.int8) ^ 8) - 8
    high = ((octets >> 4).astype(np.int8) ^ 8) - 8
    pairs = np.stack([low, high], 1).astype(ml_dtypes.int4)
    listed = ", ".join(str(v) for v in octets)
    text = f"""
    func.func @main(%x: tensor<256xui8>, %p: tensor<256x2xi4>)
        -> (tensor<256x2xi4>, tensor<256xui8>, tensor<256x2xi4>) {{
      %c = hlo.constant dense<[{listed}]> : tensor<256xui8>
      %0 = hlo.bitcast_convert %x : (tensor<256xui8>) -> tensor<256x2xi4>
      %1 = hlo.bitcast_convert %p : (tensor<256x2xi4>) -> tensor<256xui8>
      %2 = hlo.bitcast_convert %c : (tensor<256xui8>) -> tensor<256x2xi4>
      return %0, %1, %2 : tensor<256x2xi4>, tensor<256xui8>, tensor<256x2xi4>
    }}"""
    split, joined, folded = run_text(text, octets, pairs)
    np.testing.assert_array_equal(split, pairs)
    np.testing.assert_array_equal(joined, octets)
    np.testing.assert_array_equal(folded, pairs)


@pytest.mark.parametrize("lanes", [1, 17])
def test_complex_functions_far_out(lanes: int) -> None:
    z = np.full(lanes, -1 - 101999j, np.complex64)
    found = run(jnp.arcsinh, z)
    np.testing.assert_allclose(found.real, np.full(lanes, -12.2259), rtol=1e-5)
    np.testing.assert_allclose(found.imag, np.full(lanes, -1.5708), rtol=1e-5)
    big = np.full(lanes, 4.8935e30 * (1 - 1j), np.complex64)
    square = run(jnp.square, big)
    np.testing.assert_array_equal(square.real, np.zeros(lanes))
    np.testing.assert_array_equal(square.imag, np.full(lanes, -np.inf))


# Windows and reductions


@pytest.mark.parametrize("dtype", [F32, F64, np.int32])
def test_reduce_window_of_a_dilated_operand(dtype: type) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (64, 128)).astype(dtype)
    least = -np.inf if dtype is not np.int32 else np.iinfo(np.int32).min

    def f(x: Any) -> Any:
        return lax.reduce_window(
            x, dtype(least), lax.max, (2, 1), (2, 1), "VALID", base_dilation=(1, 2)
        )

    found = run(f, x, x64=True)
    assert found.shape == (32, 255)
    np.testing.assert_array_equal(found[:, 1::2], np.full((32, 127), least))
    np.testing.assert_array_equal(found[:, ::2], x.reshape(32, 2, 128).max(1))


@pytest.mark.parametrize("pads", [(-1, 0), (0, -1), (-2, 1), (-3, -3)])
def test_reduce_window_of_ones_is_a_pad(pads: tuple[int, int]) -> None:
    x = np.arange(32, dtype=F32).reshape(8, 4)

    def f(x: Any) -> Any:
        return lax.reduce_window(x, F32(0), lax.add, (1, 1), (1, 1), (pads, (0, 0)))

    low, high = pads
    expected = x[max(-low, 0) : 8 + min(high, 0)]
    expected = np.pad(expected, ((max(low, 0), max(high, 0)), (0, 0)))
    np.testing.assert_array_equal(run(f, x), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, 4, 6, (3, 5), (1, 3, 6), tuple(range(7))])
def test_sum_of_products_over_axes_of_rank_seven(axis: int | tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((3, 1, 2, 2, 8, 8, 8)).astype(F32) for _ in range(2))
    found = run(lambda a, b: jnp.sum(a * b, axis=axis), a, b)
    expected = np.sum(a.astype(F64) * b, axis=axis)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
