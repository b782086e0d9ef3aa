// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C1] dimension 1 of size 16 must be a multiple of the size of a group, 3}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C2] scatter_dimension must be in [0, 2), found 2}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 2 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C3] replica_groups must be unique, found 0 twice}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C5] replica_groups must hold each process from 0 to 2}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C6] use_global_device_ids needs a channel with a positive handle}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C7] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C8] result must have shape [4, 8], found 'tensor<4x4xf32>'}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{[C9] result must have the computation's element type 'f32', found 'tensor<4x8xf64>'}}
  %0 = "hlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x8xf64>
  return
}
