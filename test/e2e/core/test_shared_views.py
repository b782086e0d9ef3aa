"""Bits under another type and parts that sorts and scatters read lie in their operands' memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlo

Function = Callable[..., Any]
NAN_BITS = np.array([0x7F800001, 0xFFC12345, 0x80000000, 1, 0x7F7FFFFF], np.uint32)


def program(function: Function, *arguments: Any, **options: Any) -> Any:
    return hlo.compile(hlo.from_jax(function, *arguments), **options)


def check(function: Function, *arguments: Any, **options: Any) -> Any:
    """Compares with jax bit by bit, with buffers that share memory and without; the report."""
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for reuse in (True, False):
        given = [np.array(a) for a in arguments]
        found = program(function, *arguments, reuse=reuse, **options)(*given)
        for want, got in zip(expected, found, strict=True):
            assert np.asarray(want).tobytes() == got.tobytes()
        if not options:
            assert all(np.array_equal(a, b) for a, b in zip(given, arguments, strict=True))
    return program(function, *arguments, **options).memory_analysis()


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def layer(w: Any, i: Any) -> Any:
    return lax.dynamic_index_in_dim(w, i, 0, keepdims=False)


def bits(x: Any, dtype: Any) -> Any:
    return lax.bitcast_convert_type(x, dtype)


def sorts_alone(memory: Any) -> bool:
    """Whether only what library calls work in is in the arena, and indices."""
    return all(b.bytes < 64 or b.name.startswith("scratch") for b in memory.buffers)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.int8])
def test_bits_of_an_argument_of_the_same_width_or_narrower(dtype: Any) -> None:
    assert sorts_alone(check(lambda x: jnp.sort(bits(x, dtype)), floats(8, 48)))


def test_wider_elements_of_an_argument_are_copied_for_their_alignment() -> None:
    x = np.random.default_rng(1).integers(0, 255, (40, 4), np.uint8)
    memory = check(lambda x: jnp.sort(bits(x, np.uint32)), x)
    assert any(b.name == "bitcast_convert" and b.bytes == 160 for b in memory.buffers)
    compiled = program(lambda x: jnp.sort(bits(x, np.uint32)), x)
    misaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].reshape(40, 4)
    assert np.array_equal(compiled(misaligned)[0], np.sort(x.view(np.uint32)[:, 0]))


def test_wider_elements_of_an_intermediate_are_its_own() -> None:
    x = np.random.default_rng(1).integers(0, 9, (64, 2), np.int16)
    memory = check(lambda x: jnp.sort(bits(jnp.sort(x, axis=0), np.int32)), x)
    assert not any(b.name == "bitcast_convert" for b in memory.buffers)


def test_complex_numbers_are_pairs() -> None:
    x = (floats(16, 2) + 1j * floats(16, 2)).astype(np.complex64)
    compiled = hlo.compile("""
    func.func @main(%x: tensor<16xcomplex<f64>>) -> tensor<16x2xcomplex<f32>> {
      %0 = hlo.bitcast_convert %x : (tensor<16xcomplex<f64>>) -> tensor<16x2xcomplex<f32>>
      %1 = "hlo.fft"(%0) {fft_type = #hlo<fft_type FFT>, fft_length = array<i64: 2>}
        : (tensor<16x2xcomplex<f32>>) -> tensor<16x2xcomplex<f32>>
      return %1 : tensor<16x2xcomplex<f32>> }""")
    found = compiled(x.view(np.complex128)[:, 0])[0]
    np.testing.assert_allclose(found, np.fft.fft(x), rtol=1e-5, atol=1e-5)
    assert sorts_alone(compiled.memory_analysis())


def test_nans_keep_their_bits() -> None:
    x = NAN_BITS.view(np.float32)
    (found,) = program(lambda x: jnp.sort(bits(x, np.uint32)), x)(x)
    assert np.array_equal(found, np.sort(NAN_BITS))


def test_booleans_and_narrow_integers_are_no_views() -> None:
    x = np.arange(32, dtype=np.int8).reshape(8, 4)
    check(lambda x: jnp.sort(bits(x, jnp.int4).astype(np.int8), axis=0), x)


def test_bits_that_are_read_after_their_operand_was_changed() -> None:
    def f(x: Any, u: Any) -> Any:
        made = jnp.sort(x)
        shown = bits(made, np.int32)
        changed = lax.dynamic_update_slice(made, u, (3,))
        return jnp.sort(changed * 2), jnp.sort(shown)

    check(f, floats(64), floats(5))


def test_a_result_that_is_the_bits_of_another_result() -> None:
    check(lambda x: (jnp.sort(x), bits(jnp.sort(x), np.int32)), floats(64))
    check(lambda x: (x, bits(x, np.int32), bits(x, np.uint16)), floats(64))


def test_bits_of_a_donated_argument() -> None:
    def f(x: Any, u: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (1,)), jnp.sort(bits(x, np.int32))

    check(f, floats(64), floats(5), donate=(0,))


def test_bits_of_a_carry_that_the_body_changes() -> None:
    def body(i: Any, c: Any) -> Any:
        shown = jnp.sort(bits(c, np.int32))
        return lax.dynamic_update_slice(c, bits(shown[:8], np.float32) * 0.5, (i,))

    check(lambda x: lax.fori_loop(0, 5, body, x), np.abs(floats(32)))


@pytest.mark.parametrize("i", [-5, 0, 2, 11])
@pytest.mark.parametrize(
    "read", [jnp.sort, jnp.argsort, lambda x: lax.top_k(x, 3)[0], lambda x: jnp.sort(x, axis=0)]
)
def test_layers_that_sorts_read(read: Function, i: int) -> None:
    assert sorts_alone(check(lambda w, i: read(layer(w, i)), floats(4, 8, 48), np.int32(i)))


def test_updates_that_a_scatter_reads() -> None:
    at = np.int32([3, 1, 3, 99])

    def f(w: Any, i: Any) -> Any:
        return jnp.zeros((6, 16)).at[at].add(layer(w, i))

    memory = check(f, floats(5, 4, 16), np.int32(2))
    assert not any(b.bytes == 256 for b in memory.buffers)


def test_a_scatter_into_what_its_updates_are_a_part_of() -> None:
    at = np.int32([0, 0, 2])

    def f(w: Any, i: Any) -> Any:
        made = jnp.sort(w, axis=2)
        return made.at[at].add(lax.dynamic_slice(made, (i, 0, 0), (3, 4, 16)))

    for i in (0, 1, 9):
        check(f, floats(5, 4, 16), np.int32(i))


def test_windows_of_a_layer_that_select() -> None:
    def f(w: Any, i: Any) -> Any:
        pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")  # noqa: E731
        return jax.grad(lambda x: (pool(x) * 3).sum())(layer(w, i))

    memory = check(f, floats(3, 16, 32), np.int32(1))
    assert not any(b.bytes >= 2048 for b in memory.buffers)


def test_a_layer_that_is_updated_while_a_sort_reads_it() -> None:
    def body(i: Any, w: Any) -> Any:
        return lax.dynamic_update_index_in_dim(w, jnp.sort(layer(w, i + 1)) + layer(w, 0), i, 0)

    check(lambda w: lax.fori_loop(0, 6, body, w), floats(8, 32))
