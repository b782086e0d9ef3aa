// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C1] operand and result must have the same element type, found 'f32' and 'f64'}}
  %0 = hlo.broadcast_in_dim %a, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf64>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C2] broadcast_dimensions must have 1 element(s), found 2}}
  %0 = hlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C3] broadcast_dimensions must be in [0, 2), found 2}}
  %0 = hlo.broadcast_in_dim %a, dims = [2] : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C3] broadcast_dimensions must be in [0, 2), found -1}}
  %0 = hlo.broadcast_in_dim %a, dims = [-1] : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>) {
  // expected-error @+1 {{[C4] broadcast_dimensions must be unique, found 0 twice}}
  %0 = hlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<3x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C5] operand dimension 0 of size 3 must be 1 or match result dimension 1 of size 2}}
  %0 = hlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C6] the result must be quantized along dimension 0, found 1}}
  %0 = hlo.broadcast_in_dim %a, dims = [0] : (tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<1x2x!quant.uniform<i8:f32:1, {1.0, 1.0}>>
  return
}

// -----

func.func @test(%a: tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error @+1 {{[C6] the result must repeat the operand's scale and zero point}}
  %0 = hlo.broadcast_in_dim %a, dims = [0] : (tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

func.func @test(%a: tensor<1xf32>) {
  // expected-error @+1 {{result #0 must be statically shaped or single bounded dimension tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex of 32/64-bit float or per-tensor quantized integer or per-axis quantized integer values, but got 'tensor<?xf32>'}}
  %0 = hlo.broadcast_in_dim %a, dims = [0] : (tensor<1xf32>) -> tensor<?xf32>
  return
}
