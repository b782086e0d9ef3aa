// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C1] split_dimension must be in [0, 2), found 2}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 2 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C2] dimension 1 of size 16 must be a multiple of split_count 3}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, split_count = 3 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C3] concat_dimension must be in [0, 2), found -1}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = -1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C4] split_count must be at least 1, found 0}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 0 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C5] replica_groups must be unique, found 1 twice}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 1, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C7] replica_groups must hold each process from 0 to 4}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 4]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C8] a group must have split_count = 4 processes, found 2}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C9] result #0 must have type 'tensor<16x4xf32>', found 'tensor<4x16xf32>'}}
  %0 = "hlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}
