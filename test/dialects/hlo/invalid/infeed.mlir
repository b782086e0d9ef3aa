// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%t: !hlo.token) {
  // expected-error @+1 {{[C1] must have a result}}
  "hlo.infeed"(%t) <{infeed_config = ""}> : (!hlo.token) -> ()
  return
}

// -----

func.func @test(%t: !hlo.token) {
  // expected-error @+1 {{[C2] all results but the last must be tensors, found '!hlo.token'}}
  %0:2 = "hlo.infeed"(%t) <{infeed_config = ""}> : (!hlo.token) -> (!hlo.token, !hlo.token)
  return
}

// -----

func.func @test(%t: !hlo.token) {
  // expected-error @+1 {{[C3] the last result must be a token, found 'tensor<f32>'}}
  %0:2 = "hlo.infeed"(%t) <{infeed_config = ""}> : (!hlo.token) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @test(%t: !hlo.token) {
  // expected-error @+1 {{layout must have 1 element(s), found 0}}
  %0:2 = "hlo.infeed"(%t) <{infeed_config = "", layout = []}> : (!hlo.token) -> (tensor<3x3xf32>, !hlo.token)
  return
}
