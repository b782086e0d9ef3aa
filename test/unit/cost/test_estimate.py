"""Times that the cost model gives: their order, and what bounds them."""

from __future__ import annotations

from regions import entry

import hlo
from hlo.passes.cost.cycles import cycles
from hlo.passes.cost.kernel_cost import kernel_costs, launch_costs
from hlo.passes.cost.machine import HOST
from hlo.passes.hlo_to_host.launch_ids import launch_ids

TEXT = """
func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %p: tensor<i1>)
    -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "hlo.if"(%p) ({
    %2 = hlo.add %0, %b : tensor<1024x1024xf32>
    hlo.return %2 : tensor<1024x1024xf32>
  }, {
    %3 = hlo.tanh %b : tensor<1024x1024xf32>
    hlo.return %3 : tensor<1024x1024xf32>
  }) : (tensor<i1>) -> tensor<1024x1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
"""


def test_a_large_product_waits_for_arithmetic_and_a_sum_for_memory() -> None:
    dot, summed, _ = launch_costs(entry(TEXT), HOST).values()
    assert dot.estimate is not None
    assert summed.estimate is not None
    assert dot.estimate.bound == "compute"
    assert dot.estimate.cores == 2
    assert summed.estimate.bound in ("L3", "memory")
    assert dot.estimate.seconds > 5 * summed.estimate.seconds


def test_all_branches_have_launches_and_the_dearest_one_counts() -> None:
    region = entry(TEXT)
    assert list(launch_ids(region).values()) == [0, 1, 2]
    assert [cost.launch for cost in kernel_costs(region)] == [0, 1]
    assert list(launch_costs(region)) == [0, 1, 2]
    assert all(cost.estimate is None for cost in kernel_costs(region))


def test_dear_functions_cost_more_than_sums() -> None:
    def of(op: str, kind: str = "f32") -> float:
        text = f"""
        func.func @main(%x: tensor<4096x{kind}>) -> tensor<4096x{kind}> {{
          %0 = {op} : tensor<4096x{kind}>
          return %0 : tensor<4096x{kind}>
        }}
        """
        return cycles(entry(text).nodes[0])

    add, divide = of("hlo.add %x, %x"), of("hlo.divide %x, %x")
    exponential, tangent = of("hlo.exponential %x"), of("hlo.tan %x")
    assert 0 < add < divide < exponential < tangent
    assert of("hlo.add %x, %x", "f64") == 2 * add
    assert of("hlo.divide %x, %x", "i32") > divide  # one element after another


def test_reports_have_the_estimate() -> None:
    compiled = hlo.compile(TEXT, threads=1)
    cost = compiled.cost_analysis()
    assert cost.estimated_seconds > 1e-3  # 2 Gflop at less than 270 Gflop/s
    moved = cost.bytes_cached + cost.bytes_of_memory
    # Written lines that were not cached are read first: more than is accessed.
    assert cost.bytes_accessed <= moved <= 2 * cost.bytes_accessed
    text = cost.as_text()
    assert "est. us" in text
    assert "estimated: " in text
