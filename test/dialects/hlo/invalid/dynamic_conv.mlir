// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<1x8x4xf32>, %b: tensor<3x4x6xf32>, %p: tensor<2x2xi32>) {
  // expected-error @+1 {{[C4] padding must have shape [1, 2], found 'tensor<2x2xi32>'}}
  %0 = "hlo.dynamic_conv"(%a, %b, %p) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x4xf32>, tensor<3x4x6xf32>, tensor<2x2xi32>) -> tensor<1x?x6xf32>
  return
}

// -----

func.func @test(%a: tensor<1x8x4xf32>, %b: tensor<3x5x6xf32>, %p: tensor<1x2xi32>) {
  // expected-error @+1 {{[C14] kernel input feature dimension must have size 4, found 5}}
  %0 = "hlo.dynamic_conv"(%a, %b, %p) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x4xf32>, tensor<3x5x6xf32>, tensor<1x2xi32>) -> tensor<1x?x6xf32>
  return
}
