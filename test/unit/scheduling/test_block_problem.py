"""What the model of a block takes for memory, beside what is planned."""

from __future__ import annotations

from hlo import ir
from hlo.driver.memory_budget import plan
from hlo.driver.phases import Phase
from hlo.driver.pipeline import passes_to
from hlo.passes.hlo_to_host.program import hlo_to_host, mark_donated
from hlo.passes.memory.rematerialize import live_bytes_of

# A scalar joins the launch of the update that reads it, whose result lies in the donated argument.
UPDATE = """func.func @main(%x: tensor<4096xf32>, %t: tensor<f32>)
    -> (tensor<4096xf32>, tensor<f32>) {
  %b = hlo.constant dense<0.9> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %n = hlo.add %t, %one : tensor<f32>
  %p = hlo.power %b, %n : tensor<f32>
  %s = hlo.subtract %one, %p : tensor<f32>
  %w = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096xf32>
  %0 = hlo.divide %x, %w : tensor<4096xf32>
  return %0, %n : tensor<4096xf32>, tensor<f32>
}"""


def test_a_member_of_several_steps_writes_over_a_donated_argument() -> None:
    module = ir.parse_module(UPDATE)
    mark_donated(module, (0,))
    for step in passes_to(Phase.FUSED):
        step.run(module)
    assert 'kind = "steps"' in str(module)
    assert live_bytes_of(module) == 0  # what only members read is not counted
    planned = plan(module, hlo_to_host(module, (0,)), reuse=True)
    assert planned.arena.bytes <= 4
