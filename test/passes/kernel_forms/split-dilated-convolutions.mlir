// With a zero between elements of the input, even and odd results meet other taps of the window.
// RUN: hlo-opt --split-dilated-convolutions %s | FileCheck %s
// RUN: hlo-opt --split-dilated-convolutions='finite=true' %s | FileCheck %s --check-prefix=FINITE

// CHECK-LABEL: func.func @main
// CHECK: %[[ZEROS:.*]] = hlo.reduce
// CHECK: %[[EVEN:.*]] = hlo.slice %arg1 [0:3:2, 0:64, 0:32]
// CHECK: %[[A:.*]] = hlo.convolution(%arg0, %[[EVEN]]) {{.*}} window = {pad = {{\[\[}}1, 0]], lhs_dilate = [1]}
// CHECK: hlo.select
// CHECK: hlo.add %[[A]]
// CHECK: %[[ODD:.*]] = hlo.slice %arg1 [1:4:2, 0:64, 0:32]
// CHECK: hlo.convolution(%arg0, %[[ODD]]) {{.*}} window = {pad = {{\[\[}}0, 1]], lhs_dilate = [1]}
// CHECK: %[[BOTH:.*]] = hlo.concatenate {{.*}} : (tensor<1x8x1x32xf32>, tensor<1x8x1x32xf32>) -> tensor<1x8x2x32xf32>
// CHECK: hlo.reshape %[[BOTH]] : (tensor<1x8x2x32xf32>) -> tensor<1x16x32xf32>

// FINITE-LABEL: func.func @main
// FINITE-NOT: hlo.select
// FINITE: hlo.concatenate
func.func @main(%x: tensor<1x8x64xf32>, %k: tensor<4x64x32xf32>) -> tensor<1x16x32xf32> {
  %0 = "hlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2>, padding = dense<[[2, 2]]> : tensor<1x2xi64>}> : (tensor<1x8x64xf32>, tensor<4x64x32xf32>) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}

// What saves few products stays as it is.
// CHECK-LABEL: func.func @few
// CHECK: hlo.convolution
// CHECK-NOT: hlo.concatenate
func.func @few(%x: tensor<1x8x2xf32>, %k: tensor<4x2x32xf32>) -> tensor<1x16x32xf32> {
  %0 = "hlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2>, padding = dense<[[2, 2]]> : tensor<1x2xi64>}> : (tensor<1x8x2xf32>, tensor<4x2x32xf32>) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}
