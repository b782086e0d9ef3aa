// Gradients by the weights of few features: input features become places, output features rows.
// RUN: hlo-opt --arrange-gradients %s | FileCheck %s

// 99 places of 3 features are 297 of one: zeros around them, and the 1 cut off, 3 times as many,
// positions 2 * 3 apart.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = hlo.reshape %arg0 : {{.*}} -> tensor<8x297x1xf32>
// CHECK: %[[G:.*]] = hlo.convolution(%[[X]], %arg1)
// CHECK-SAME: window = {pad = {{\[\[}}3, -3]], rhs_dilate = [6]}
// CHECK-SAME: -> tensor<9x1x64xf32>
// CHECK: hlo.reshape %[[G]] : {{.*}} -> tensor<3x3x64xf32>
func.func @main(%x: tensor<8x99x3xf32>, %g: tensor<8x49x64xf32>) -> tensor<3x3x64xf32> {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, -1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x99x3xf32>, tensor<8x49x64xf32>) -> tensor<3x3x64xf32>
  return %0 : tensor<3x3x64xf32>
}

// 12 of 16 lanes are less than 64 of 64. Tap 0 of the result is then the last one: 3 - 1 - 0 zeros
// come first, and 0 + 98 - 96 behind.
// CHECK-LABEL: func.func private @exchanged
// CHECK: %[[E:.*]] = hlo.convolution(%arg1, %arg0)
// CHECK-SAME: window = {pad = {{\[\[}}2, 2]], rhs_dilate = [1]}
// CHECK-SAME: -> tensor<3x12x64xf32>
// CHECK: %[[R:.*]] = hlo.reverse %[[E]], dims = [0]
// CHECK: hlo.transpose %[[R]], dims = [0, 2, 1] : {{.*}} -> tensor<3x64x12xf32>
func.func private @exchanged(%x: tensor<8x98x64xf32>, %g: tensor<8x96x12xf32>) -> tensor<3x64x12xf32> {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x98x64xf32>, tensor<8x96x12xf32>) -> tensor<3x64x12xf32>
  return %0 : tensor<3x64x12xf32>
}

// Many features, strides with idle lanes, few positions, groups and integers stay.
// CHECK-LABEL: func.func private @stay
// CHECK-NOT: hlo.reshape
// CHECK-NOT: hlo.reverse
// CHECK: return
func.func private @stay(%x: tensor<8x98x64xf32>, %g: tensor<8x96x64xf32>, %h: tensor<8x48x12xf32>, %s: tensor<1x98x3xf32>, %t: tensor<1x96x64xf32>, %i: tensor<8x98x3xi32>, %j: tensor<8x96x64xi32>) -> (tensor<3x64x64xf32>, tensor<4x64x12xf32>, tensor<3x3x64xf32>, tensor<3x3x64xi32>) {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x98x64xf32>, tensor<8x96x64xf32>) -> tensor<3x64x64xf32>
  %1 = hlo.convolution(%x, %h) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x98x64xf32>, tensor<8x48x12xf32>) -> tensor<4x64x12xf32>
  %2 = hlo.convolution(%s, %t) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x98x3xf32>, tensor<1x96x64xf32>) -> tensor<3x3x64xf32>
  %3 = hlo.convolution(%i, %j) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x98x3xi32>, tensor<8x96x64xi32>) -> tensor<3x3x64xi32>
  return %0, %1, %2, %3 : tensor<3x64x64xf32>, tensor<4x64x12xf32>, tensor<3x3x64xf32>, tensor<3x3x64xi32>
}
