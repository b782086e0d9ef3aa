// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{[C1] min must be a scalar or have the operand's shape, found 'tensor<3xf32>' and 'tensor<2xf32>'}}
  %0 = "hlo.clamp"(%a, %b, %b) : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{[C2] max must be a scalar or have the operand's shape, found 'tensor<3xf32>' and 'tensor<2xf32>'}}
  %0 = "hlo.clamp"(%b, %b, %a) : (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{[C3] element types must agree, found 'i32' and 'f32'}}
  %0 = "hlo.clamp"(%a, %b, %b) : (tensor<i32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%b: tensor<2xf32>) {
  // expected-error @+1 {{[C4] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = "hlo.clamp"(%b, %b, %b) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}
