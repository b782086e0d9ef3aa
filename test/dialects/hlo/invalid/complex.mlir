// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{[C1] lhs and rhs must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %0 = "hlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2, C3] result #0 must have type 'tensor<2xcomplex<f32>>', found 'tensor<3xcomplex<f32>>'}}
  %0 = "hlo.complex"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2, C3] result #0 must have type 'tensor<2xcomplex<f32>>', found 'tensor<2xcomplex<f64>>'}}
  %0 = "hlo.complex"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}
