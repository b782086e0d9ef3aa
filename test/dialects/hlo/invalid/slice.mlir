// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C1, C5] result #0 must have type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %0 = hlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @test(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{[C2] start_indices must have 2 element(s), found 1}}
  %0 = hlo.slice %a [0:2] : (tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C2] limit_indices must have 1 element(s), found 2}}
  %0 = "hlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2, 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C3] 0 <= start <= limit <= 4 must hold in dimension 0, found start -1 and limit 2}}
  %0 = hlo.slice %a [-1:2] : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C3] 0 <= start <= limit <= 4 must hold in dimension 0, found start 3 and limit 2}}
  %0 = hlo.slice %a [3:2] : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C3] 0 <= start <= limit <= 4 must hold in dimension 0, found start 0 and limit 5}}
  %0 = hlo.slice %a [0:5] : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C4] strides must be at least 1, found 0}}
  %0 = hlo.slice %a [0:2:0] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C1, C5] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = hlo.slice %a [0:3:2] : (tensor<4xf32>) -> tensor<3xf32>
  return
}
