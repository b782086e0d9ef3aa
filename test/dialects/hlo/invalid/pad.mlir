// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %p: tensor<f64>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'f64'}}
  %0 = hlo.pad %a, %p, low = [0], high = [0], interior = [0] : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C2] edge_padding_low must have 1 element(s), found 2}}
  %0 = hlo.pad %a, %p, low = [0, 0], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C2] edge_padding_high must have 1 element(s), found 0}}
  %0 = hlo.pad %a, %p, low = [0], high = [], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C3] interior_padding must be at least 0, found -1}}
  %0 = hlo.pad %a, %p, low = [0], high = [0], interior = [-1] : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C4] padding must leave a size of at least 0 that fits 64 bits in dimension 0}}
  %0 = hlo.pad %a, %p, low = [-2], high = [-1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C4] padding must leave a size of at least 0 that fits 64 bits in dimension 0}}
  %0 = hlo.pad %a, %p, low = [0], high = [0], interior = [9223372036854775807] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{[C1, C4] result #0 must have type 'tensor<5xf32>', found 'tensor<4xf32>'}}
  %0 = hlo.pad %a, %p, low = [1], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
