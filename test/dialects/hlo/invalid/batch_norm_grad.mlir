// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C1] feature_index must be in [0, 2), found 2}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf64>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C2] element types must agree, found 'f32' and 'f64'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x4xf32>) {
  // expected-error @+1 {{[C3] operand and grad_output must have the same shape, found 'tensor<2x3xf32>' and 'tensor<2x4xf32>'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<4xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C4] mean must be a vector of 3 element(s), found 'tensor<4xf32>'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<2xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C4] variance must be a vector of 3 element(s), found 'tensor<2xf32>'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<2xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C5] scale must be a vector of 3 element(s), found 'tensor<2xf32>'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>) {
  // expected-error @+1 {{[C2, C3] result #0 must have type 'tensor<2x3xf32>', found 'tensor<3x2xf32>'}}
  %0:3 = "hlo.batch_norm_grad"(%a, %s, %m, %v, %g) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
