// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>, %b: tensor<f64>, %s: tensor<1xi64>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'f64'}}
  %0 = hlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f64>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{[C2] a normal distribution is of floats, found 'i32'}}
  %0 = hlo.rng %a, %a, %s, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<3xi32>
  return
}

// -----

func.func @test(%a: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{[C3] result #0 must have type 'tensor<?xf32>', found 'tensor<3x3xf32>'}}
  %0 = hlo.rng %a, %a, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3x3xf32>
  return
}
