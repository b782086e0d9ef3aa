// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{[C1] operands must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = "hlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2xf32>) {
  // expected-error @+1 {{[C2] all or none must be quantized, found '!quant.uniform<i8:f32, 1.000000e+00>', 'f32' and 'f32'}}
  %0 = "hlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i16:f32, 1.0>>) {
  // expected-error @+1 {{[C1] operands must have the same type, found 'tensor<2x!quant.uniform<i8:f32, 1.000000e+00>>' and 'tensor<2x!quant.uniform<i16:f32, 1.000000e+00>>'}}
  %0 = "hlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i16:f32, 1.0>>) -> tensor<2x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C5] the result must be quantized per axis if and only if an operand is, found '!quant.uniform<i8:f32:0, {1.000000e+00}>', '!quant.uniform<i8:f32:0, {1.000000e+00}>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "hlo.add"(%a, %a) : (tensor<1x!quant.uniform<i8:f32:0, {1.0}>>, tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<1x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C6] lhs and result must be quantized along the same dimension, found 0 and 1}}
  %0 = "hlo.add"(%a, %a) : (tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>, tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<1x1x!quant.uniform<i8:f32:1, {1.0}>>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32, 1.0>>, %b: tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C7] rhs and result must be quantized along the same dimension, found 0 and 1}}
  %0 = "hlo.add"(%a, %b) : (tensor<1x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<1x1x!quant.uniform<i8:f32:1, {1.0}>>
  return
}
