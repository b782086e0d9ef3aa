// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x4x4xf32>) {
  // expected-error @+1 {{[C1] lhs and rhs must have the same rank, found 'tensor<2x8x8x4xf32>' and 'tensor<3x4x4xf32>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C2] window_strides must have 2 element(s), found 1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C3] window_strides must be at least 1, found 0}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 0, 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C4] padding must have shape [2, 2], found [1, 2]}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = dense<0> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C5] lhs_dilation must have 2 element(s), found 1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, lhs_dilation = array<i64: 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C6] lhs_dilation must be at least 1, found 0}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, lhs_dilation = array<i64: 0, 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C7] rhs_dilation must have 2 element(s), found 0}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, rhs_dilation = array<i64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C8] rhs_dilation must be at least 1, found -1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, rhs_dilation = array<i64: 1, -1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C9] window_reversal must have 2 element(s), found 1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_reversal = array<i1: true>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x3xf32>) {
  // expected-error @+1 {{[C10] input batch dimension of size 2 must be a multiple of 3}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 3 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x3xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C11] input feature dimension of size 4 must be a multiple of 3}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C12] dimension_numbers must have 2 spatial dimensions, found 1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x3x4xf32>) {
  // expected-error @+1 {{[C14] kernel input feature dimension must have size 4, found 3}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x5xf32>) {
  // expected-error @+1 {{[C15] kernel output feature dimension of size 5 must be a multiple of 2}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<1x6x6x5xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{[C16] kernel output feature dimension of size 5 must be a multiple of 2}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x2x5xf32>) -> tensor<2x6x6x5xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C21] feature_group_count must be at least 1, found 0}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C22] batch_group_count must be at least 1, found -1}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = -1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x2x4xf32>) {
  // expected-error @+1 {{[C23] feature_group_count and batch_group_count must not both exceed 1, found 2 and 2}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x2x4xf32>) -> tensor<1x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C24] precision_config must have at most 2 elements, found 3}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#hlo<precision HIGH>, #hlo<precision HIGH>, #hlo<precision HIGH>]}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C25] result must have shape [2, 6, 6, 4], found 'tensor<2x6x7x4xf32>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x7x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C26] result must have rank 4, found 3}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf64>) {
  // expected-error @+1 {{[C27] lhs and rhs must have the same element type, found 'f32' and 'f64'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf64>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{[C28] rhs must be quantized, and lhs and result both or neither, found 'f32', 'f32' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4x!quant.uniform<i8:f32:2, {1.0, 1.0, 1.0, 1.0}>>) {
  // expected-error @+1 {{[C29] rhs must be quantized along dimension 3, found 2}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4x!quant.uniform<i8:f32:2, {1.0, 1.0, 1.0, 1.0}>>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{[C34] lhs and result must have the type that rhs expresses, found 'f32', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f64'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x6x6x4xf64>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32, 1.0>>, %b: tensor<1x1x!quant.uniform<i8:f32:1, {1.0}>>) {
  // expected-error @+1 {{[C30] result must be quantized along dimension 1, found 0}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x!quant.uniform<i8:f32:1, {1.0}>>) -> tensor<1x1x!quant.uniform<i8:f32:0, {1.0}>>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32, 1.0>>, %b: tensor<1x1x!quant.uniform<i4:f32, 1.0>>) {
  // expected-error @+1 {{[C31] lhs and rhs must store the same type, found '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i4:f32, 1.000000e+00>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x!quant.uniform<i4:f32, 1.0>>) -> tensor<1x1x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32, 1.0>>, %b: tensor<1x1x!quant.uniform<i8:f16, 1.0>>) {
  // expected-error @+1 {{[C32] lhs, rhs and result must express the same type, found '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f16, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x!quant.uniform<i8:f16, 1.0>>) -> tensor<1x1x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<1x1x!quant.uniform<i8:f32, 1.0>>, %b: tensor<1x1x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{[C33] the result must be quantized per tensor as rhs is, found '!quant.uniform<i8:f32:1, {1.000000e+00}>'}}
  %0 = "hlo.convolution"(%a, %b) <{dimension_numbers = #hlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x1x!quant.uniform<i8:f32:1, {1.0}>>
  return
}
