// Every convolution of a module gets input dilation 1 and output features last; padding becomes a
// pad where register tiles do not take it.
// RUN: hlo-opt --prepare-convolutions %s | FileCheck %s
// RUN: hlo-opt --prepare-convolutions='any-window=true' %s | FileCheck %s --check-prefix=ANY

// Integers have no register tiles. Height 5 + 1 + 1 = 7, width 6 + 2 + 1 = 9.
// CHECK-LABEL: func.func @main
// CHECK: %[[PAD:.*]] = hlo.pad %arg0, %{{.*}}, low = [0, 1, 2, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : {{.*}} -> tensor<1x7x9x3xi32>
// CHECK: %[[KERNEL:.*]] = hlo.transpose %arg1, dims = [1, 2, 3, 0] : {{.*}} -> tensor<3x3x3x7xi32>
// CHECK: %[[CONV:.*]] = hlo.convolution(%[[PAD]], %[[KERNEL]]) dim_numbers = [b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f], window = {stride = [2, 2]}
// CHECK-SAME: -> tensor<1x3x4x7xi32>
// CHECK: hlo.transpose %[[CONV]], dims = [0, 3, 1, 2]
// ANY-LABEL: func.func @main
// ANY-NOT: hlo.pad
// ANY: hlo.convolution(%arg0, %{{.*}}) {{.*}}pad = {{\[\[}}1, 1], [2, 1]]

// Four elements with one hole between any two, 4 + 3 = 7, and one on each side: 9. The second
// convolution is in that form already.
// CHECK-LABEL: func.func @dilated
// CHECK: %[[PAD:.*]] = hlo.pad {{.*}}interior = [0, 1, 0] : {{.*}} -> tensor<1x9x3xf32>
// CHECK: hlo.convolution(%[[PAD]], %arg1)
// CHECK-NOT: hlo.pad
// CHECK: hlo.convolution(%arg0, %arg1)
// ANY-LABEL: func.func @dilated
// ANY: hlo.pad {{.*}}interior = [0, 1, 0]

// Both convolutions of a function are prepared.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: hlo.pad

// Tiles take the padding, also with few features, and with eight in each of two groups, half a vector.
// CHECK-LABEL: func.func @tiles
// CHECK-NOT: hlo.pad
// CHECK: hlo.convolution(%arg0, %arg1) {{.*}}pad = {{\[\[}}1, 1{{\]\]}}
// CHECK-LABEL: func.func @few
// CHECK-NOT: hlo.pad
// CHECK-LABEL: func.func @groups
// CHECK-NOT: hlo.pad

// Three features in a group: their kernel is computed element by element.
// CHECK-LABEL: func.func @small_groups
// CHECK: hlo.pad %arg0
// ANY-LABEL: func.func @small_groups
// ANY-NOT: hlo.pad
// ANY: hlo.convolution(%arg0, %arg1)

// The zeros of the pad come to those of the convolution: 2 + 1 and 0 + 1.
// CHECK-LABEL: func.func @absorbed
// CHECK-NOT: hlo.pad
// CHECK: hlo.convolution(%arg0, %arg1) {{.*}}pad = {{\[\[}}3, 1{{\]\]}}

// Another reader needs the padded tensor: the pad stays.
// CHECK-LABEL: func.func @shared
// CHECK: hlo.pad %arg0
// CHECK: hlo.convolution(%{{[0-9]+}}, %arg1)
func.func @main(%x: tensor<1x5x6x3xi32>, %k: tensor<7x3x3x3xi32>) -> tensor<1x7x3x4xi32> {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1]>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [2, 1]]> : tensor<2x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x5x6x3xi32>, tensor<7x3x3x3xi32>) -> tensor<1x7x3x4xi32>
  return %0 : tensor<1x7x3x4xi32>
}
func.func @dilated(%x: tensor<1x4x3xf32>, %k: tensor<3x3x7xf32>) -> (tensor<1x7x7xf32>, tensor<1x2x7xf32>) {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, lhs_dilation = array<i64: 2>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<3x3x7xf32>) -> tensor<1x7x7xf32>
  %1 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<3x3x7xf32>) -> tensor<1x2x7xf32>
  return %0, %1 : tensor<1x7x7xf32>, tensor<1x2x7xf32>
}
func.func @two(%x: tensor<1x4x3xi32>, %k: tensor<3x3x7xi32>, %l: tensor<1x3x7xi32>) -> (tensor<1x4x7xi32>, tensor<1x6x7xi32>) {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xi32>, tensor<3x3x7xi32>) -> tensor<1x4x7xi32>
  %1 = "hlo.convolution"(%x, %l) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xi32>, tensor<1x3x7xi32>) -> tensor<1x6x7xi32>
  return %0, %1 : tensor<1x4x7xi32>, tensor<1x6x7xi32>
}
func.func @tiles(%x: tensor<1x4x3xf32>, %k: tensor<3x3x8xf32>) -> tensor<1x4x8xf32> {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<3x3x8xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
func.func @few(%x: tensor<1x4x3xf32>, %k: tensor<3x3x3xf32>) -> tensor<1x4x3xf32> {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<3x3x3xf32>) -> tensor<1x4x3xf32>
  return %0 : tensor<1x4x3xf32>
}
func.func @groups(%x: tensor<1x4x4xf32>, %k: tensor<3x2x16xf32>) -> tensor<1x4x16xf32> {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4xf32>, tensor<3x2x16xf32>) -> tensor<1x4x16xf32>
  return %0 : tensor<1x4x16xf32>
}
func.func @small_groups(%x: tensor<1x4x4xf32>, %k: tensor<3x2x6xf32>) -> tensor<1x4x6xf32> {
  %0 = "hlo.convolution"(%x, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4xf32>, tensor<3x2x6xf32>) -> tensor<1x4x6xf32>
  return %0 : tensor<1x4x6xf32>
}
func.func @absorbed(%x: tensor<1x4x3xf32>, %k: tensor<3x3x8xf32>) -> tensor<1x6x8xf32> {
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %p = "hlo.pad"(%x, %zero) {edge_padding_low = array<i64: 0, 2, 0>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0, 0>} : (tensor<1x4x3xf32>, tensor<f32>) -> tensor<1x6x3xf32>
  %0 = "hlo.convolution"(%p, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x6x3xf32>, tensor<3x3x8xf32>) -> tensor<1x6x8xf32>
  return %0 : tensor<1x6x8xf32>
}
func.func @shared(%x: tensor<1x4x3xf32>, %k: tensor<3x3x8xf32>) -> (tensor<1x6x8xf32>, tensor<1x6x3xf32>) {
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %p = "hlo.pad"(%x, %zero) {edge_padding_low = array<i64: 0, 2, 0>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0, 0>} : (tensor<1x4x3xf32>, tensor<f32>) -> tensor<1x6x3xf32>
  %0 = "hlo.convolution"(%p, %k) {dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, window_strides = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x6x3xf32>, tensor<3x3x8xf32>) -> tensor<1x6x8xf32>
  return %0, %p : tensor<1x6x8xf32>, tensor<1x6x3xf32>
}
