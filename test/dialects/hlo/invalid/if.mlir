// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C1] branch #0 must take no arguments, found 1}}
  %0 = "hlo.if"(%p) ({
  ^bb0(%x: tensor<f32>):
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %a : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @test(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C2] branches must return the same types, found ('tensor<f32>') and ('tensor<f64>')}}
  %0 = "hlo.if"(%p) ({
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %b : tensor<f64>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @test(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C3] result #0 must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.if"(%p) ({
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %a : tensor<f32>
  }) : (tensor<i1>) -> tensor<f64>
  return
}
