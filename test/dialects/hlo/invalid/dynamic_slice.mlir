// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1, C5] result #0 must have type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf64>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C2] start_indices must have 2 element(s), found 1}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [2, 2] : (tensor<4x4xf32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C2] slice_sizes must have 1 element(s), found 2}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [2, 2] : (tensor<4xf32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @+1 {{[C3] start_indices must have the same type, found 'tensor<i32>' and 'tensor<i64>'}}
  %0 = hlo.dynamic_slice %a, %i, %j, sizes = [2, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C4] slice_sizes must be in [0, 4] in dimension 0, found 5}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C4] slice_sizes must be in [0, 4] in dimension 0, found -1}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [-1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1, C5] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = hlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
  return
}
