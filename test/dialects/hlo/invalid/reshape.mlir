// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] operand and result must have the same element type, found 'f32' and 'f64'}}
  %0 = hlo.reshape %a : (tensor<2xf32>) -> tensor<1x2xf64>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2] operand and result must have as many elements, found 2 and 3}}
  %0 = hlo.reshape %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error @+1 {{[C3] the quantized dimension must keep its size and the number of elements on either side, found 'tensor<2x3x!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>>' and 'tensor<3x2x!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00}>>'}}
  %0 = hlo.reshape %a : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return
}
