// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xi1>', found 'tensor<3xi1>'}}
  %0 = hlo.is_inf %a : tensor<2xf32> -> tensor<3xi1>
  return
}
