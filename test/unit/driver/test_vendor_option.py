"""`vendor`: without it no matrix product calls a library, and results agree."""

from __future__ import annotations

import numpy as np
import pytest

import hlo
from hlo import knobs

# Both operands of more than 2^18 elements, the left one transposed: work for the library.
PRODUCT = """
func.func @main(%a: tensor<520x1030xf32>, %b: tensor<520x600xf32>) -> tensor<1030x600xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0]
      : (tensor<520x1030xf32>, tensor<520x600xf32>) -> tensor<1030x600xf32>
  return %0 : tensor<1030x600xf32>
}
"""


def test_without_the_vendor_generated_code_multiplies() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((520, n)).astype(np.float32) for n in (1030, 600))
    library, generated = hlo.compile(PRODUCT), hlo.compile(PRODUCT, vendor=False)
    assert "hlo_rt_gemm" in library.as_text("host")
    assert "hlo_rt_gemm" not in generated.as_text("host")
    want = a.T.astype(np.float64) @ b
    for compiled in (library, generated):
        np.testing.assert_allclose(compiled(a, b)[0], want, rtol=1e-4, atol=1e-4)


def test_the_knob_is_the_default() -> None:
    with knobs.scope(vendor=False):
        assert "hlo_rt_gemm" not in hlo.compile(PRODUCT).as_text("host")


def test_vendor_is_a_flag() -> None:
    with pytest.raises(hlo.CompileError, match="option vendor: expected True or False"):
        hlo.compile(PRODUCT, vendor=0)
