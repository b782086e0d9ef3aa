// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = hlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %u: tensor<2xf64>, %i: tensor<i32>) {
  // expected-error @+1 {{[C2] element types must agree, found 'f32' and 'f64'}}
  %0 = hlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2xf64>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C3] update must have rank 1, found 2}}
  %0 = hlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2x2xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C4] start_indices must have 1 element(s), found 2}}
  %0 = hlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @+1 {{[C5] start_indices must have the same type, found 'tensor<i32>' and 'tensor<i64>'}}
  %0 = hlo.dynamic_update_slice %a, %u, %i, %j : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C6] update must be at most 4 in dimension 0, found 5}}
  %0 = hlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return
}
