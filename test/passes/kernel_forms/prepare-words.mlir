// Convolutions of bytes have features last in their input, and whole words of them.
// REQUIRES: words
// RUN: hlo-opt --prepare-words %s | FileCheck %s
// RUN: hlo-opt --prepare-words='fast=true' --prepare-convolutions --pack-kernels %s | FileCheck %s --check-prefix=PACKED

// 3 features and a zero are a word of 4 bytes.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = hlo.transpose %arg0, dims = [0, 2, 3, 1] : {{.*}} -> tensor<1x20x20x3xi8>
// CHECK: %[[P:.*]] = hlo.pad %[[T]], {{.*}} -> tensor<1x20x20x4xi8>
// CHECK: %[[K:.*]] = hlo.pad %arg1, {{.*}} -> tensor<3x3x4x64xi8>
// CHECK: hlo.convolution(%[[P]], %[[K]]) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]

// The words of a column side by side; padding around the input stays with the convolution.
// PACKED-LABEL: func.func @main
// PACKED: hlo.transpose {{.*}}, dims = [4, 0, 1, 2, 5, 3] : {{.*}} -> tensor<1x3x3x1x64x4xi8>
// PACKED: hlo.transpose {{.*}}, dims = [1, 2, 3, 5, 0, 4] {hlo.panels} : {{.*}} -> tensor<3x3x1x4x1x64xi8>
// PACKED: hlo.convolution({{.*}}window = {pad = {{.*}}1, 1], [1, 1]
func.func @main(%x: tensor<1x3x20x20xi8>, %k: tensor<3x3x3x64xi8>) -> tensor<1x20x20x64xi32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x20x20xi8>, tensor<3x3x3x64xi8>) -> tensor<1x20x20x64xi32>
  return %0 : tensor<1x20x20x64xi32>
}

// Groups stay.
// CHECK-LABEL: func.func private @groups
// CHECK-NOT: hlo.pad
// CHECK: return
func.func private @groups(%x: tensor<1x20x20x6xi8>, %k: tensor<3x3x3x64xi8>) -> tensor<1x18x18x64xi32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x20x20x6xi8>, tensor<3x3x3x64xi8>) -> tensor<1x18x18x64xi32>
  return %0 : tensor<1x18x18x64xi32>
}
