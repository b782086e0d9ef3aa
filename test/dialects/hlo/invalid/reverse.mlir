// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = hlo.reverse %a, dims = [0] : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2] dimensions must be unique, found 0 twice}}
  %0 = hlo.reverse %a, dims = [0, 0] : tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C3] dimensions must be in [0, 1), found 1}}
  %0 = hlo.reverse %a, dims = [1] : tensor<2xf32>
  return
}
