// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{[C1, C2] result #0 must have type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %0 = hlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1, C2] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = hlo.abs %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<2xui8>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.abs %a : tensor<2xui8>
  return
}
