// The gradient of a depthwise convolution of planes is a sum along places for each tap.
// RUN: hlo-opt --gradients-to-sums %s | FileCheck %s

// 2 taps that are 3 apart meet every other place of the padded input: 0, 2, ..., 98 and 3, 5, ..., 101.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = hlo.pad %arg0, {{.*}}, low = [0, 0, 1], high = [0, 0, 1], {{.*}} -> tensor<8x96x102xf32>
// CHECK: %[[X:.*]] = hlo.optimization_barrier %[[P]]
// CHECK: %[[A:.*]] = hlo.slice %[[X]] [0:8, 0:96, 0:99:2]
// CHECK: %[[B:.*]] = hlo.multiply %[[A]], %arg1
// CHECK: %[[S:.*]] = hlo.reduce(%[[B]] init: {{.*}}) applies hlo.add across dimensions = [0, 2] {{.*}} -> tensor<96xf32>
// CHECK: %[[C:.*]] = hlo.slice %[[X]] [0:8, 0:96, 3:102:2]
// CHECK: %[[D:.*]] = hlo.multiply %[[C]], %arg1
// CHECK: %[[T:.*]] = hlo.reduce(%[[D]] init: {{.*}}) applies hlo.add across dimensions = [0, 2] {{.*}} -> tensor<96xf32>
// CHECK: %[[U:.*]] = hlo.reshape %[[S]]
// CHECK: %[[V:.*]] = hlo.reshape %[[T]]
// CHECK: %[[W:.*]] = hlo.concatenate %[[U]], %[[V]], dim = 0 : {{.*}} -> tensor<2x96xf32>
// CHECK: hlo.transpose {{.*}} -> tensor<96x1x2xf32>
func.func @main(%x: tensor<8x96x100xf32>, %g: tensor<8x96x50xf32>) -> tensor<96x1x2xf32> {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {stride = [3], pad = [[1, 1]], rhs_dilate = [2]} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x100xf32>, tensor<8x96x50xf32>) -> tensor<96x1x2xf32>
  return %0 : tensor<96x1x2xf32>
}

// Places as many as fill no vector, narrow floats, channels side by side, orders that differ, groups of
// several features, and windows in reverse stay.
// CHECK-LABEL: func.func private @stay
// CHECK-NOT: hlo.reduce
// CHECK: return
func.func private @stay(%x: tensor<8x96x5xf32>, %g: tensor<8x96x3xf32>, %n: tensor<8x96x50xbf16>, %c: tensor<8x50x96xf32>, %p: tensor<8x96x50xf32>) -> (tensor<96x1x3xf32>, tensor<96x1x1xbf16>, tensor<96x1x1xf32>, tensor<96x1x1xf32>, tensor<96x2x1xf32>, tensor<96x1x3xf32>) {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x5xf32>, tensor<8x96x3xf32>) -> tensor<96x1x3xf32>
  %1 = hlo.convolution(%n, %n) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x50xbf16>, tensor<8x96x50xbf16>) -> tensor<96x1x1xbf16>
  %2 = hlo.convolution(%c, %c) dim_numbers = [f, 0, b]x[i, 0, o]->[f, b, 0], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x50x96xf32>, tensor<8x50x96xf32>) -> tensor<96x1x1xf32>
  %3 = hlo.convolution(%p, %c) dim_numbers = [f, b, 0]x[i, 0, o]->[f, b, 0], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x50xf32>, tensor<8x50x96xf32>) -> tensor<96x1x1xf32>
  %4 = hlo.convolution(%p, %p) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 48 : i64, feature_group_count = 1 : i64} : (tensor<8x96x50xf32>, tensor<8x96x50xf32>) -> tensor<96x2x1xf32>
  %5 = hlo.convolution(%p, %p) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x50xf32>, tensor<8x96x50xf32>) -> tensor<96x1x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<96x1x3xf32>, tensor<96x1x1xbf16>, tensor<96x1x1xf32>, tensor<96x1x1xf32>, tensor<96x2x1xf32>, tensor<96x1x3xf32>
}
