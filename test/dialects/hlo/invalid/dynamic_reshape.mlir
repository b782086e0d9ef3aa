// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<6xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C1] operand and result must have the same element type, found 'f32' and 'f64'}}
  %0 = hlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf64>
  return
}

// -----

func.func @test(%a: tensor<6xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C2] operand and result must have as many elements, found 6 and 8}}
  %0 = hlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<6xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{[C4] output_shape must have 3 element(s), found 2}}
  %0 = hlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>
  return
}
