// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C1] lhs and rhs must have as many batching dimensions, found 1 and 0}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C2] lhs and rhs must have as many contracting dimensions, found 1 and 0}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C3] lhs_batching_dimensions and lhs_contracting_dimensions must be unique, found 0 twice}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C4] rhs_batching_dimensions and rhs_contracting_dimensions must be unique, found 0 twice}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C5] lhs_batching_dimensions must be in [0, 3), found 3}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [3], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C6] lhs_contracting_dimensions must be in [0, 3), found 3}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C7] rhs_batching_dimensions must be in [0, 3), found -1}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [-1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C8] rhs_contracting_dimensions must be in [0, 3), found 3}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<6x3x4xf32>) {
  // expected-error @+1 {{[C9] batching dimensions must have the same size, found 5 and 6}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<6x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x7x4xf32>) {
  // expected-error @+1 {{[C10] contracting dimensions must have the same size, found 3 and 7}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x7x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C11] precision_config must have at most 2 elements, found 3}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#hlo<precision HIGH>, #hlo<precision HIGH>, #hlo<precision HIGH>]}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C12] result must have shape [5, 2, 4], found 'tensor<2x5x4xf32>'}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xi32>) {
  // expected-error @+1 {{[C13] lhs and rhs must have elements of one kind, found 'f32' and 'i32'}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xi32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C14] rhs must be quantized, and lhs and result both or neither, found 'f32', 'f32' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4x!quant.uniform<i8:f32, 1.0:17>>) {
  // expected-error @+1 {{[C15] the zero point of rhs must be 0, found 17}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4x!quant.uniform<i8:f32, 1.0:17>>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<1xf32>, %b: tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C16] rhs must not be quantized along contracting dimension 0}}
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<1xf32>, tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tensor<1xf32>, %b: tensor<1x1x!quant.uniform<i8:f32:1, {1.0:5}>>) {
  // expected-error @+1 {{[C15] the zero points of rhs must be 0, found '!quant.uniform<i8:f32:1, {1.000000e+00:5}>'}}
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<1xf32>, tensor<1x1x!quant.uniform<i8:f32:1, {1.0:5}>>) -> tensor<1xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error @+1 {{[C20] lhs and result must have the type that rhs expresses, found 'f32', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f64'}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<5x2x4xf64>
  return
}

// -----

func.func @test(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @+1 {{[C21] precision_config must be DEFAULT when an algorithm is given, found HIGH}}
  %0 = "hlo.dot_general"(%a, %b) <{dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#hlo<precision HIGH>, #hlo<precision DEFAULT>], algorithm = #hlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i4:f32, 1.0>>) {
  // expected-error @+1 {{[C17] lhs and rhs must store the same type, found '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i4:f32, 1.000000e+00>'}}
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i4:f32, 1.0>>) -> tensor<!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @test(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i8:f16, 1.0>>) {
  // expected-error @+1 {{[C18] lhs, rhs and result must express the same type, found '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f16, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i8:f16, 1.0>>) -> tensor<!quant.uniform<i8:f32, 1.0>>
  return
}
