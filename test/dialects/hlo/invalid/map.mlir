// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{[C1] inputs must have the same shape, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = "hlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C4] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "hlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @test() {
  // expected-error @+1 {{[C2] takes at least one input}}
  %0 = "hlo.map"() <{dimensions = array<i64: 0>}> ({
  ^bb0:
    %c = hlo.constant dense<0> : tensor<i32>
    hlo.return %c : tensor<i32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C3] dimensions must be 0 to 1 in order, found [1]}}
  %0 = "hlo.map"(%a) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C4] the computation must take 1 argument(s), found 2}}
  %0 = "hlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C4] argument #0 of the computation must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f64>):
    hlo.return %x : tensor<f64>
  }) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C4] the computation must return a scalar, found 'tensor<1xf32>'}}
  %0 = "hlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<1xf32>):
    hlo.return %x : tensor<1xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
