// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] operand and result must have the same shape, found 'tensor<2xf32>' and 'tensor<3xi32>'}}
  %0 = hlo.convert %a : (tensor<2xf32>) -> tensor<3xi32>
  return
}
