"""Rows one element longer than a whole number of vectors, copied in narrow types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import hlo

TYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "i16": np.int16,
    "i8": np.int8,
    "f32": np.float32,
}


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("width", [9, 17])
def test_update_keeps_the_last_column(element: str, width: int) -> None:
    whole, part = f"tensor<17x40x{element}>", f"tensor<17x{width}x{element}>"
    starts = "%i: tensor<i32>, %j: tensor<i32>"
    text = f"""func.func @main(%a: {whole}, %u: {part}, {starts}) -> {whole} {{
      %0 = "hlo.dynamic_update_slice"(%a, %u, %i, %j)
        : ({whole}, {part}, tensor<i32>, tensor<i32>) -> {whole}
      return %0 : {whole}
    }}"""
    a = np.zeros((17, 40)).astype(TYPES[element])
    u = (np.arange(17 * width) % 50 + 1).reshape(17, width).astype(TYPES[element])
    (found,) = hlo.compile(text)(a, u, np.int32(0), np.int32(1))
    expected = a.copy()
    expected[:, 1 : 1 + width] = u
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("width", [9, 17])
def test_scatter_keeps_the_last_column(element: str, width: int) -> None:
    jnp = pytest.importorskip("jax.numpy")
    jax = pytest.importorskip("jax")
    a = np.zeros((5, width)).astype(TYPES[element])
    u = (np.arange(3 * width) % 50 + 1).reshape(3, width).astype(TYPES[element])
    rows = np.array([4, 0, 2], np.int32)
    function = jax.jit(lambda a, r, u: a.at[r].set(jnp.asarray(u)))
    (found,) = hlo.compile(function.lower(a, rows, u).as_text())(a, rows, u)
    expected = a.copy()
    expected[rows] = u
    assert found.tobytes() == expected.tobytes()
