// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C1] source_target_pairs must have shape [N, 2], found [1, 3]}}
  %0 = "hlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C2] sources must be unique, found 0 twice}}
  %0 = "hlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C3] targets must be unique, found 1 twice}}
  %0 = "hlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C4] source_target_pairs must not be negative, found -1}}
  %0 = "hlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C5] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "hlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}
