// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C1] takes an initial value for each input, at least one, found 3 operand(s)}}
  %0 = "hlo.reduce_window"(%a, %i, %b) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<4x2xf32>) {
  // expected-error @+1 {{[C2] inputs must have the same shape, found 'tensor<4x3xf32>' and 'tensor<4x2xf32>'}}
  %0:2 = "hlo.reduce_window"(%a, %b, %i, %i) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f64>, %b: tensor<f32>) {
  // expected-error @+1 {{[C3] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C4] window_dimensions must have 2 element(s), found 1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C5] window_dimensions must be at least 1, found 0}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C6] window_strides must have 2 element(s), found 1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C7] window_strides must be at least 1, found 0}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C8] base_dilations must have 2 element(s), found 1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C9] base_dilations must be at least 1, found -1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: -1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C10] window_dilations must have 2 element(s), found 1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, window_dilations = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C11] window_dilations must be at least 1, found 0}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, window_dilations = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C12] padding must have shape [2, 2], found [2]}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C12] padding must have shape [2, 2], found [1, 2]}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>, %b: tensor<f32>) {
  // expected-error @+1 {{[C13] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C1, C15, C16] result #0 must have type 'tensor<3x2xf32>', found 'tensor<4x3xf32>'}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C1, C15, C16] result #0 must have type 'tensor<4x3xf32>', found 'tensor<4x3xf64>'}}
  %0 = "hlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf64>
  return
}
