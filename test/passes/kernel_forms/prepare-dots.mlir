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

// Columns on both sides of what is summed: those behind it are one, 4 x 3 = 12.
// CHECK-LABEL: func.func @columns_around
// CHECK: %[[IMAGE:.*]] = hlo.reshape %arg1 : (tensor<2x5x4x3xf32>) -> tensor<2x5x12xf32>
// CHECK: %[[ROWS:.*]] = hlo.dot_general %arg0, %[[IMAGE]], contracting_dims = [0] x [1]
// CHECK-SAME: -> tensor<7x2x12xf32>
// CHECK: hlo.reshape %[[ROWS]] : (tensor<7x2x12xf32>) -> tensor<7x2x4x3xf32>
func.func @columns_around(%w: tensor<5x7xf32>, %x: tensor<2x5x4x3xf32>) -> tensor<7x2x4x3xf32> {
  %0 = "hlo.dot_general"(%w, %x) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>} : (tensor<5x7xf32>, tensor<2x5x4x3xf32>) -> tensor<7x2x4x3xf32>
  return %0 : tensor<7x2x4x3xf32>
}

// 256 rows of a matrix times 10 vectors: the vectors are the left operand, the 10 x 256 results are turned.
// CHECK-LABEL: func.func @few_columns
// CHECK: %[[FEW:.*]] = hlo.dot_general %arg1, %arg0, contracting_dims = [1] x [1] : {{.*}} -> tensor<10x256xf32>
// CHECK: hlo.transpose %[[FEW]], dims = [1, 0]
// 13 are no few: they stay.
// CHECK: hlo.dot_general %arg0, %arg2
func.func @few_columns(%x: tensor<256x64xf32>, %w: tensor<10x64xf32>, %v: tensor<13x64xf32>) -> (tensor<256x10xf32>, tensor<256x13xf32>) {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<10x64xf32>) -> tensor<256x10xf32>
  %1 = hlo.dot_general %x, %v, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<13x64xf32>) -> tensor<256x13xf32>
  return %0, %1 : tensor<256x10xf32>, tensor<256x13xf32>
}
