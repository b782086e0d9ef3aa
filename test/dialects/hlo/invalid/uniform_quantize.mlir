// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] operand and result must have the same shape, found 'tensor<2xf32>' and 'tensor<3x!quant.uniform<i8:f32, 1.000000e+00>>'}}
  %0 = hlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<3x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<2xf64>) {
  // expected-error @+1 {{[C2] operand and result must express the same type, found 'f64' and 'f32'}}
  %0 = hlo.uniform_quantize %a : (tensor<2xf64>) -> tensor<2x!quant.uniform<i8:f32, 1.0>>
  return
}
