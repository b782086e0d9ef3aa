// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %p: tensor<f64>, %s: tensor<1xi64>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'f64'}}
  %0 = hlo.dynamic_pad %a, %p, %s, %s, %s : (tensor<2xf32>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C2] padding amounts must have 1 element(s), found 2}}
  %0 = hlo.dynamic_pad %a, %p, %s, %s, %s : (tensor<2xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %p: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{[C4] operand and result must have the same rank, found 'tensor<2xf32>' and 'tensor<?x?xf32>'}}
  %0 = hlo.dynamic_pad %a, %p, %s, %s, %s : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}
