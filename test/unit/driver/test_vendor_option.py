"""`vendor`: without it no matrix product calls a library, and results agree."""

from __future__ import annotations

import numpy as np
import pytest

import hlo
from hlo import knobs

# Complex products are work for the library.
PRODUCT = """
func.func @main(%a: tensor<208x103xcomplex<f32>>, %b: tensor<208x60xcomplex<f32>>)
    -> tensor<103x60xcomplex<f32>> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0]
      : (tensor<208x103xcomplex<f32>>, tensor<208x60xcomplex<f32>>) -> tensor<103x60xcomplex<f32>>
  return %0 : tensor<103x60xcomplex<f32>>
}
"""


def test_without_the_vendor_generated_code_multiplies() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((208, 2 * n), np.float32).view(np.complex64) for n in (103, 60))
    library, generated = hlo.compile(PRODUCT), hlo.compile(PRODUCT, vendor=False)
    assert "hlo_rt_gemm" in library.as_text("host")
    assert "hlo_rt_gemm" not in generated.as_text("host")
    want = a.T.astype(np.complex128) @ b
    for compiled in (library, generated):
        np.testing.assert_allclose(compiled(a, b)[0], want, rtol=1e-4, atol=1e-4)


def test_the_knob_is_the_default() -> None:
    with knobs.scope(vendor=False):
        assert "hlo_rt_gemm" not in hlo.compile(PRODUCT).as_text("host")


def test_vendor_is_a_flag() -> None:
    with pytest.raises(hlo.CompileError, match="option vendor: expected True or False"):
        hlo.compile(PRODUCT, vendor=0)
