// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3x3xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<3x3xf32>', found 'tensor<3x3xf64>'}}
  %0 = hlo.cholesky %a : (tensor<3x3xf32>) -> tensor<3x3xf64>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{[C2] a must have at least 2 dimensions, found 'tensor<3xf32>'}}
  %0 = hlo.cholesky %a : tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{[C3] matrices must be square, found 'tensor<3x4xf32>'}}
  %0 = hlo.cholesky %a : tensor<3x4xf32>
  return
}
