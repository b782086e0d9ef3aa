// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<5x3xf32>, %i: tensor<3xf32>) {
  // expected-error @+1 {{[C1] dimension must be in [0, 2), found 2}}
  %0:2 = "hlo.scan"(%a, %i) <{dimension = 2 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
    hlo.return %x, %y : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<5x3xf32>, %i: tensor<3xf32>) {
  // expected-error @+1 {{[C2] inputs must have the same size in dimension 0, found 4 and 5}}
  %0:2 = "hlo.scan"(%a, %i) <{dimension = 0 : i64, scan_dim_size = 4 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
    hlo.return %x, %y : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<5x3xf32>, %i: tensor<3xf32>) {
  // expected-error @+1 {{[C3] argument #0 of the body must have type 'tensor<3xf32>', found 'tensor<5xf32>'}}
  %0:2 = "hlo.scan"(%a, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<5xf32>, %y: tensor<3xf32>):
    hlo.return %x, %y : tensor<5xf32>, tensor<3xf32>
  }) : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @test(%a: tensor<5x3xf32>, %i: tensor<3xf32>) {
  // expected-error @+1 {{[C5] result #0 must have type 'tensor<5x3xf32>', found 'tensor<4x3xf32>'}}
  %0:2 = "hlo.scan"(%a, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
    hlo.return %x, %y : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return
}
