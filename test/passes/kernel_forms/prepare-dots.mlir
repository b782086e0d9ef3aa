// Dimensions of one role that follow one another in memory become one.
// RUN: hlo-opt --prepare-dots %s | FileCheck %s

// Batches 2 x 3 of matrices stay as they are; 2 x 3 = 6 rows and 7 x 8 = 56 columns are one each.
// CHECK: hlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
// CHECK: %[[ROWS:.*]] = hlo.reshape %arg2 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK: %[[COLUMNS:.*]] = hlo.reshape %arg3 : (tensor<4x7x8xf32>) -> tensor<4x56xf32>
// CHECK: %[[DOT:.*]] = hlo.dot_general %[[ROWS]], %[[COLUMNS]], contracting_dims = [1] x [0]
// CHECK: hlo.reshape %[[DOT]] : (tensor<6x56xf32>) -> tensor<2x3x7x8xf32>
func.func @main(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %x: tensor<2x3x4xf32>, %w: tensor<4x7x8xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x7x8xf32>) {
  %0 = "hlo.dot_general"(%q, %k) {dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = "hlo.dot_general"(%x, %w) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>} : (tensor<2x3x4xf32>, tensor<4x7x8xf32>) -> tensor<2x3x7x8xf32>
  return %0, %1 : tensor<2x3x4x6xf32>, tensor<2x3x7x8xf32>
}
