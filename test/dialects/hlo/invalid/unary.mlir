// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = "hlo.ceil"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<2xi32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xi32>', found 'tensor<2xi64>'}}
  %0 = "hlo.negate"(%a) : (tensor<2xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @test(%a: tensor<2xi32>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.floor %a : tensor<2xi32>
  return
}

// -----

func.func @test(%a: tensor<2xui32>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.sign %a : tensor<2xui32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.not %a : tensor<2xf32>
  return
}
