// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3x3xf32>, %b: tensor<3x2xf64>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{[C2] a and b must have the same rank, at least 2, found 'tensor<3xf32>' and 'tensor<3xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<1x3x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @+1 {{[C2] a and b must have the same rank, at least 2, found 'tensor<1x3x3xf32>' and 'tensor<3x3xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3x3xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error @+1 {{[C3] a and b must have the same batch dimensions, found 'tensor<2x3x3xf32>' and 'tensor<4x3x3xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

func.func @test(%a: tensor<3x4xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+1 {{[C3] a must be square, of the order of b's rows, found 'tensor<3x4xf32>' and 'tensor<3x2xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{[C3] a must be square, of the order of b's rows, found 'tensor<3x3xf32>' and 'tensor<2x4xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+1 {{[C3] a must be square, of the order of b's columns, found 'tensor<3x3xf32>' and 'tensor<3x2xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+1 {{[C4] result #0 must have type 'tensor<3x2xf32>', found 'tensor<3x3xf32>'}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+1 {{[I6] transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT}}
  %0 = "hlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #hlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}
