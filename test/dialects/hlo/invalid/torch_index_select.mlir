// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<5x2xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{dim must be in [0, 2), found 2}}
  %0 = "hlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 2 : i64}> : (tensor<5x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{batch_dims must be in [0, 0], found 1}}
  %0 = "hlo.torch_index_select"(%a, %i) <{batch_dims = 1 : i64, dim = 0 : i64}> : (tensor<5x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @test(%a: tensor<5x2xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{result must have shape [2, 2], found 'tensor<3x2xf32>'}}
  %0 = "hlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x2xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  return
}
