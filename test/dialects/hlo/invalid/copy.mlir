// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand and result must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = hlo.copy %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}
