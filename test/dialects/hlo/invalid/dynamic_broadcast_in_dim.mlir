// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C1] operand and result must have the same element type, found 'f32' and 'f64'}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf64>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C2] broadcast_dimensions must have 1 element(s), found 2}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C3] broadcast_dimensions must be in [0, 2), found 2}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [2] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3x3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C4] broadcast_dimensions must be unique, found 0 twice}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 0] : (tensor<3x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C5] operand dimension 0 of size 3 must be 1 or match result dimension 0 of size 4}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] : (tensor<3xf32>, tensor<2xi64>) -> tensor<4x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C7] output_dimensions must have 3 element(s), found 2}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C8] known_expanding_dimensions and known_nonexpanding_dimensions must be unique, found 0 twice}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C9] known_expanding_dimensions must be in [0, 1), found 1}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] {known_expanding_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C10] known_nonexpanding_dimensions must be in [0, 1), found -1}}
  %0 = hlo.dynamic_broadcast_in_dim %a, %s, dims = [0] {known_nonexpanding_dimensions = array<i64: -1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}
