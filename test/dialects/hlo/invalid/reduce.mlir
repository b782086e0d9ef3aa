// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<4x2xf32>) {
  // expected-error @+1 {{[C1] inputs must have the same shape, found 'tensor<4x3xf32>' and 'tensor<4x2xf32>'}}
  %0:2 = "hlo.reduce"(%a, %b, %i, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f64>, %b: tensor<f32>) {
  // expected-error @+1 {{[C2] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f64>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C3] takes an initial value for each input, at least one, found 3 operand(s)}}
  %0 = "hlo.reduce"(%a, %i, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<3xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{[I2] init_values must be scalars, found 'tensor<3xf32>'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C4] dimensions must be in [0, 2), found 2}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C5] dimensions must be unique, found 0 twice}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C6] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C6] the computation must return 1 value(s), found 2}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C6] value #0 that the computation returns must be a tensor whose element type 'f32' widens to, found 'tensor<f16>'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    hlo.return %x : tensor<f16>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf16>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C6] argument #1 of the computation must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f64>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C3, C7, C8] result #0 must have type 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C3, C7, C8] result #0 must have type 'tensor<3xf64>', found 'tensor<3xf32>'}}
  %0 = "hlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    hlo.return %x : tensor<f64>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
