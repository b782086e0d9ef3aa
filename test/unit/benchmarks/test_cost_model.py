"""How estimates and times are compared."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import cost_model

SINE = """
func.func @main(%x: tensor<262144xf32>) -> tensor<262144xf32> {
  %0 = hlo.sine %x : tensor<262144xf32>
  return %0 : tensor<262144xf32>
}
"""


def test_rank_correlation_looks_at_the_order_alone() -> None:
    assert cost_model.rank_correlation([1, 2, 3], [10, 11, 1000]) == 1
    assert cost_model.rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    # Places 0, 1.5, 1.5, 3 against 0, 1, 2, 3: a covariance of 4.5 by variances of 4.5 and 5.
    found = cost_model.rank_correlation([1, 5, 5, 9], [1, 2, 3, 4])
    assert found == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert math.isnan(cost_model.rank_correlation([1, 2], [1, 2]))
    assert math.isnan(cost_model.rank_correlation([1, 1, 1], [1, 2, 3]))


def test_agreement_weighs_sums_by_calls() -> None:
    found = cost_model.agreement([(10, 1e-6, 2e-6), (1, 4e-6, 2e-6), (1, 2e-6, 2e-6)])
    assert found.kernels == 3
    assert found.measured == pytest.approx(16e-6)
    assert found.estimated == pytest.approx(24e-6)
    assert found.ratios == pytest.approx((0.75, 1.0, 1.5))


def test_a_program_is_profiled_beside_its_estimate(tmp_path: Path) -> None:
    program = tmp_path / "sine.mlir"
    program.write_text(SINE)
    program.with_suffix(".json").write_text(
        '{"args": [{"shape": [262144], "dtype": "float32", "fill": {"constant": 1.0}}]}'
    )
    (kernel,) = cost_model.profiled(program, threads=1, runs=2)
    assert kernel.name.startswith("sine")
    assert cost_model.agreement(cost_model.pairs_of([kernel])).kernels == 1
