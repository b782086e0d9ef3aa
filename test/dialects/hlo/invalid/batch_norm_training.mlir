// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{[C1] feature_index must be in [0, 2), found 2}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf64>) {
  // expected-error @+1 {{[C2] element types must agree, found 'f32' and 'f64'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf64>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<2xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{[C3] scale must be a vector of 3 element(s), found 'tensor<2xf32>'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<2xf32>) {
  // expected-error @+1 {{[C4] offset must be a vector of 3 element(s), found 'tensor<2xf32>'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{[C2, C5, C6, C7] result #1 must have type 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{[C2, C5, C6, C7] result #2 must have type 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @test(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{[C2, C5, C6, C7] result #0 must have type 'tensor<2x3xf32>', found 'tensor<2x4xf32>'}}
  %0:3 = "hlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
