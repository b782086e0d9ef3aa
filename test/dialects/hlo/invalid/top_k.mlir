// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C1] operand must have a dimension, found 'tensor<f32>'}}
  %0:2 = hlo.top_k(%a, k = 1) : tensor<f32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C1] k must be in [0, 3], found 4}}
  %0:2 = hlo.top_k(%a, k = 4) : tensor<3xf32> -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C1] k must be in [0, 3], found -1}}
  %0:2 = hlo.top_k(%a, k = -1) : tensor<3xf32> -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C2] result #1 must have type 'tensor<2xi32>', found 'tensor<2xi64>'}}
  %0:2 = hlo.top_k(%a, k = 2) : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi64>)
  return
}
