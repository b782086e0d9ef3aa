// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.optimization_barrier"(%a) : (tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C1] must have 1 result(s), found 2}}
  %0:2 = "hlo.optimization_barrier"(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}
