// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%i: tensor<i32>) {
  // expected-error @+1 {{[C1] takes at least one branch}}
  %0 = "hlo.case"(%i) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @test(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C2] branch #0 must take no arguments, found 1}}
  %0 = "hlo.case"(%i) ({
  ^bb0(%x: tensor<f32>):
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %a : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @test(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C3] branches must return the same types, found ('tensor<f32>') and ('tensor<f64>')}}
  %0 = "hlo.case"(%i) ({
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %b : tensor<f64>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @test(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<f64>) {
  // expected-error @+1 {{[C4] result #0 must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.case"(%i) ({
    hlo.return %a : tensor<f32>
  }, {
    hlo.return %a : tensor<f32>
  }) : (tensor<i32>) -> tensor<f64>
  return
}
