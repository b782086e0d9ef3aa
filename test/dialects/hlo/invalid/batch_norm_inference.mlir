// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C1] feature_index must be in [0, 2), found -1}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = -1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf64>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C2] element types must agree, found 'f32' and 'f64'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<4xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C3] scale must be a vector of 3 element(s), found 'tensor<4xf32>'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<4xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C4] offset must be a vector of 3 element(s), found 'tensor<4xf32>'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<4xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C5] mean must be a vector of 3 element(s), found 'tensor<4xf32>'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{[C6] variance must be a vector of 3 element(s), found 'tensor<4xf32>'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{[C2, C7] result #0 must have type 'tensor<2x3xf32>', found 'tensor<2x4xf32>'}}
  %0 = "hlo.batch_norm_inference"(%a, %s, %o, %m, %v) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}
