// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C1] source_target_pairs must have shape [N, 2], found [2]}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<0> : tensor<2xi64>}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C2] sources must be unique, found 0 twice}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C3] targets must be unique, found 1 twice}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C4] source_target_pairs must not be negative, found -1}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[-1, 1]]> : tensor<1x2xi64>}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C5] channel type must be 2, found 1}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, is_host_transfer = true}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// -----

func.func @test(%a: tensor<3xf32>, %t: !hlo.token) {
  // expected-error @+1 {{[C5] channel type must be 1, found 2}}
  %0 = "hlo.send"(%a, %t) <{channel_handle = #hlo.channel_handle<handle = 5, type = 2>}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}
