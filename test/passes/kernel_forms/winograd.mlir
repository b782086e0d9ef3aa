// Convolutions of 3 x 3 windows, stride 1, over many positions of many features: 2 x 2 results from
// tiles of 4 x 4 elements of the input.
// RUN: hlo-opt --winograd %s | FileCheck %s

// 27 x 28 results are 14 x 14 tiles: 2 * 14 + 2 = 30 elements, 2 beyond what the padding gives
// ahead of and behind 27 and 28.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = hlo.pad %arg0, {{.*}} low = [0, 1, 1, 0], high = [0, 2, 1, 0]{{.*}} -> tensor<1x30x30x128xf32>
// CHECK: hlo.slice %[[X]] [0:1, 0:27:2, 0:27:2, 0:128] : {{.*}} -> tensor<1x14x14x128xf32>
// CHECK: %[[V:.*]] = hlo.concatenate {{.*}} -> tensor<16x196x128xf32>
// CHECK: %[[U:.*]] = hlo.concatenate {{.*}} -> tensor<16x128x192xf32>
// CHECK: %[[P:.*]] = hlo.dot_general %[[V]], %[[U]], batching_dims = [0] x [0], contracting_dims = [2] x [1] : {{.*}} -> tensor<16x196x192xf32>
// CHECK: hlo.slice %[[P]] [0:1, 0:196, 0:192]
// CHECK: hlo.reshape {{.*}} -> tensor<1x28x28x192xf32>
// CHECK: hlo.slice {{.*}} [0:1, 0:27, 0:28, 0:192]
func.func @main(%x: tensor<1x27x28x128xf32>, %k: tensor<3x3x128x192xf32>) -> tensor<1x27x28x192xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x27x28x128xf32>, tensor<3x3x128x192xf32>) -> tensor<1x27x28x192xf32>
  return %0 : tensor<1x27x28x192xf32>
}

// Few features, few positions, strides, other windows and other types stay.
// CHECK-LABEL: func.func private @stay
// CHECK-COUNT-5: hlo.convolution
func.func private @stay(%x0: tensor<1x28x28x16xf32>, %k0: tensor<3x3x16x16xf32>, %x1: tensor<1x6x6x128xf32>, %k1: tensor<3x3x128x128xf32>, %x2: tensor<1x28x28x128xf32>, %k2: tensor<3x3x128x128xf32>, %x3: tensor<1x28x28x128xf32>, %k3: tensor<5x5x128x128xf32>, %x4: tensor<1x28x28x128xf64>, %k4: tensor<3x3x128x128xf64>) -> (tensor<1x28x28x16xf32>, tensor<1x6x6x128xf32>, tensor<1x14x14x128xf32>, tensor<1x24x24x128xf32>, tensor<1x26x26x128xf64>) {
  %0 = hlo.convolution(%x0, %k0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x28x28x16xf32>
  %1 = hlo.convolution(%x1, %k1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x128xf32>, tensor<3x3x128x128xf32>) -> tensor<1x6x6x128xf32>
  %2 = hlo.convolution(%x2, %k2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x128xf32>, tensor<3x3x128x128xf32>) -> tensor<1x14x14x128xf32>
  %3 = hlo.convolution(%x3, %k3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x128xf32>, tensor<5x5x128x128xf32>) -> tensor<1x24x24x128xf32>
  %4 = hlo.convolution(%x4, %k4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x128xf64>, tensor<3x3x128x128xf64>) -> tensor<1x26x26x128xf64>
  return %0, %1, %2, %3, %4 : tensor<1x28x28x16xf32>, tensor<1x6x6x128xf32>, tensor<1x14x14x128xf32>, tensor<1x24x24x128xf32>, tensor<1x26x26x128xf64>
}
