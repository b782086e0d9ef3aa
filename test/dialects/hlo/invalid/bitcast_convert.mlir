// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] elements of the same width need the same shape, found 'tensor<2xf32>' and 'tensor<3xi32>'}}
  %0 = hlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] the side with narrower elements must have a trailing dimension that makes up for their width, found 'tensor<2xf32>' and 'tensor<2x3xi8>'}}
  %0 = hlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x3xi8>
  return
}

// -----

func.func @test(%a: tensor<2xi8>) {
  // expected-error @+1 {{[C1] the side with narrower elements must have a trailing dimension that makes up for their width, found 'tensor<2xi8>' and 'tensor<2xi32>'}}
  %0 = hlo.bitcast_convert %a : (tensor<2xi8>) -> tensor<2xi32>
  return
}

// -----

func.func @test(%a: tensor<2xf64>) {
  // expected-error @+1 {{[C2] operand and result must both be complex, or neither, found 'tensor<2xf64>' and 'tensor<2xcomplex<f32>>'}}
  %0 = hlo.bitcast_convert %a : (tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}
