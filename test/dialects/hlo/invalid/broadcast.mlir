// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{broadcast_sizes must be at least 0, found -2}}
  %0 = hlo.broadcast %a, sizes = [-2] : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>) {
  // expected-error @+1 {{result #0 must have type 'tensor<2x3xf32>', found 'tensor<4x3xf32>'}}
  %0 = hlo.broadcast %a, sizes = [2] : (tensor<3xf32>) -> tensor<4x3xf32>
  return
}
