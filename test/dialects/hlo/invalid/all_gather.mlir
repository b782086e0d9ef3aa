// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C1] all_gather_dim must be in [0, 2), found 2}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C2] replica_groups must be unique, found 0 twice}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C4] replica_groups must hold each process from 0 to 2}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C4] replica_groups must not be negative, found -1}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C4] replica_groups must be a matrix, found 'tensor<1xi64>'}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1xi64>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C5] use_global_device_ids needs a channel with a positive handle}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @test(%a: tensor<8x2xf32>) {
  // expected-error @+1 {{[C6] result must have type 'tensor<8x4xf32>', found 'tensor<8x6xf32>'}}
  %0 = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x6xf32>
  return
}
