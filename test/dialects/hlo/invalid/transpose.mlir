// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{[C2] permutation must have 2 element(s), found 1}}
  %0 = hlo.transpose %a, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{[C2] permutation must be unique, found 0 twice}}
  %0 = hlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{[C2] permutation must be in [0, 2), found 2}}
  %0 = hlo.transpose %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{[C1, C3, C4] result #0 must have type 'tensor<3x2xf32>', found 'tensor<2x3xf32>'}}
  %0 = hlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{[C1, C3, C4] result #0 must have type 'tensor<3x2xf32>', found 'tensor<3x2xf64>'}}
  %0 = hlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf64>
  return
}

// -----

func.func @test(%a: tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error @+1 {{[C1, C3, C4] result #0 must have type 'tensor<3x2x!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00}>>', found 'tensor<3x2x!quant.uniform<i8:f32:1, {2.000000e+00,2.000000e+00}>>'}}
  %0 = hlo.transpose %a, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {2.0, 2.0}>>
  return
}
