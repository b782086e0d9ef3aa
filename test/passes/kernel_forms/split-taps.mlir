// A convolution of many features to few is one product for all taps and a sum of its shifted parts.
// RUN: hlo-opt --split-taps %s | FileCheck %s

// 3 taps of 2 features are 6 rows; 4000 + 2 positions of the input.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = hlo.transpose %arg1, dims = [0, 2, 1] : {{.*}} -> tensor<3x2x64xf32>
// CHECK: %[[M:.*]] = hlo.reshape %[[T]] : {{.*}} -> tensor<6x64xf32>
// CHECK: %[[P:.*]] = hlo.dot_general %[[M]], %arg0, contracting_dims = [1] x [2] : {{.*}} -> tensor<6x1x4002xf32>
// CHECK: %[[A:.*]] = hlo.slice %[[P]] [0:2, 0:1, 0:4000]
// CHECK: %[[B:.*]] = hlo.slice %[[P]] [2:4, 0:1, 1:4001]
// CHECK: %[[AB:.*]] = hlo.add %[[A]], %[[B]]
// CHECK: %[[C:.*]] = hlo.slice %[[P]] [4:6, 0:1, 2:4002]
// CHECK: %[[S:.*]] = hlo.add %[[AB]], %[[C]] : tensor<2x1x4000xf32>
// CHECK: hlo.transpose %[[S]], dims = [1, 2, 0] : {{.*}} -> tensor<1x4000x2xf32>
func.func @main(%x: tensor<1x4002x64xf32>, %k: tensor<3x64x2xf32>) -> tensor<1x4000x2xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x64xf32>, tensor<3x64x2xf32>) -> tensor<1x4000x2xf32>
  return %0 : tensor<1x4000x2xf32>
}

// Narrow floats are summed in f32 and rounded once. Taps 3 apart; zeros around the input take part.
// CHECK-LABEL: func.func private @narrow
// CHECK: hlo.pad %arg0
// CHECK: hlo.dot_general {{.*}} -> tensor<2x1x4006xf32>
// CHECK: hlo.slice {{.*}} [0:1, 0:1, 0:4003]
// CHECK: hlo.slice {{.*}} [1:2, 0:1, 3:4006]
// CHECK: hlo.convert {{.*}} -> tensor<1x4003x1xbf16>
func.func private @narrow(%x: tensor<1x4002x64xbf16>, %k: tensor<2x64x1xbf16>) -> tensor<1x4003x1xbf16> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], rhs_dilate = [3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x64xbf16>, tensor<2x64x1xbf16>) -> tensor<1x4003x1xbf16>
  return %0 : tensor<1x4003x1xbf16>
}

// Strides, integers, few inputs and few positions stay, and so do features that fill a vector.
// CHECK-LABEL: func.func private @stay
// CHECK-NOT: hlo.dot_general
// CHECK: return
func.func private @stay(%x: tensor<1x4002x64xf32>, %i: tensor<1x4002x64xi32>, %f: tensor<1x4002x8xf32>, %s: tensor<1x102x64xf32>, %k: tensor<3x64x2xf32>, %ki: tensor<3x64x2xi32>, %kf: tensor<3x8x2xf32>, %kw: tensor<3x64x9xf32>) -> (tensor<1x2000x2xf32>, tensor<1x4000x2xi32>, tensor<1x4000x2xf32>, tensor<1x100x2xf32>, tensor<1x4000x9xf32>) {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x64xf32>, tensor<3x64x2xf32>) -> tensor<1x2000x2xf32>
  %1 = hlo.convolution(%i, %ki) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x64xi32>, tensor<3x64x2xi32>) -> tensor<1x4000x2xi32>
  %2 = hlo.convolution(%f, %kf) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x8xf32>, tensor<3x8x2xf32>) -> tensor<1x4000x2xf32>
  %3 = hlo.convolution(%s, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x102x64xf32>, tensor<3x64x2xf32>) -> tensor<1x100x2xf32>
  %4 = hlo.convolution(%x, %kw) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4002x64xf32>, tensor<3x64x9xf32>) -> tensor<1x4000x9xf32>
  return %0, %1, %2, %3, %4 : tensor<1x2000x2xf32>, tensor<1x4000x2xi32>, tensor<1x4000x2xf32>, tensor<1x100x2xf32>, tensor<1x4000x9xf32>
}
