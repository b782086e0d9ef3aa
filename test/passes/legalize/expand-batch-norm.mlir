// Inference is (x - mean) / sqrt(variance + epsilon) * scale + offset.
// RUN: hlo-opt --expand-batch-norm %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.subtract
// CHECK: hlo.sqrt
// CHECK: hlo.divide
// CHECK: hlo.multiply
// CHECK: hlo.add
// CHECK-NOT: batch_norm
func.func @main(%x: tensor<2x3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "hlo.batch_norm_inference"(%x, %v, %v, %v, %v) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64}
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
