// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf64>, %i: tensor<f32>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf64>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C2] source must have an element for each window, shape [2, 2], found 'tensor<2x3xf32>'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f64>) {
  // expected-error @+1 {{[C3] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C4] window_dimensions must have 2 element(s), found 1}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C4] window_dimensions must have 2 element(s), found none}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C5] window_dimensions must be at least 1, found 0}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 0, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C6] window_strides must have 2 element(s), found 1}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C7] window_strides must be at least 1, found 0}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C8] padding must have shape [2, 2], found [2, 3]}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x3xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C9] argument #0 of select must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C10] value #0 that the computation returns must be a tensor whose element type 'f32' widens to, found 'tensor<f16>'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    hlo.return %x : tensor<f16>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf16>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C11, C12] result #0 must have type 'tensor<4x4xf32>', found 'tensor<4x5xf32>'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{[C11, C12] result #0 must have type 'tensor<4x4xf64>', found 'tensor<4x4xf32>'}}
  %0 = "hlo.select_and_scatter"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    hlo.return %x : tensor<f64>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}
