// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x3x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{operands must be vectors or matrices, found 'tensor<2x3x4xf32>' and 'tensor<4xf32>'}}
  %0 = hlo.dot %a, %b : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{contracting dimensions must have the same size, found 3 and 4}}
  %0 = hlo.dot %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{result must have shape [2], found 'tensor<3xf32>'}}
  %0 = hlo.dot %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
