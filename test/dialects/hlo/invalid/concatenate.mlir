// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'i32'}}
  %0 = hlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{[C2] inputs must have the same shape but for dimension 0, found 'tensor<2x3xf32>' and 'tensor<2x4xf32>'}}
  %0 = hlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{[C2] inputs must have the same rank, found 'tensor<2x3xf32>' and 'tensor<2xf32>'}}
  %0 = hlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @test() {
  // expected-error @+1 {{[C3] takes at least one input}}
  %0 = "hlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<4x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C4] dimension must be in [0, 1), found 1}}
  %0 = hlo.concatenate %a, dim = 1 : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C5, C6] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = hlo.concatenate %a, %a, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C5, C6] result #0 must have type 'tensor<4xf32>', found 'tensor<4xf64>'}}
  %0 = hlo.concatenate %a, %a, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf64>
  return
}
