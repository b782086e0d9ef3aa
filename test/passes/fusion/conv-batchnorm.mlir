// Batch normalisation behind a convolution is applied to its register tiles: the scale of a feature, a
// product of two vectors, is made in the kernel, for each tile that reads it. A root is a step ahead of
// it, in the same launch.
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s

// CHECK: "hlo.fusion"({{.*}}kind = "steps"
// CHECK: "hlo.fusion"(
// CHECK: hlo.rsqrt
// CHECK: "hlo.fusion"(
// CHECK: hlo.convolution
// CHECK: hlo.maximum
// CHECK-NOT: hlo.fusion
func.func @main(%x: tensor<1x16x16x8xf32>, %k: tensor<3x3x8x32xf32>, %v: tensor<32xf32>, %g: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<1x16x16x32xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x16x16x32xf32>
  %1 = hlo.rsqrt %v : tensor<32xf32>
  %2 = hlo.multiply %1, %g : tensor<32xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
  %4 = hlo.multiply %0, %3 : tensor<1x16x16x32xf32>
  %5 = hlo.broadcast_in_dim %b, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
  %6 = hlo.add %4, %5 : tensor<1x16x16x32xf32>
  %zero = hlo.constant dense<0.0> : tensor<1x16x16x32xf32>
  %7 = hlo.maximum %6, %zero : tensor<1x16x16x32xf32>
  return %7 : tensor<1x16x16x32xf32>
}
