// Values with layouts become row-major values of the shapes they have in memory.
// RUN: hlo-opt --materialize-layouts %s | FileCheck %s

// CHECK-NOT: #hlo.layout

// Minor to major [1, 3, 2, 0] is 2 x 6 x 6 x 4 in memory.
// CHECK-LABEL: func.func @convolution
// CHECK: %[[K:.*]] = hlo.transpose %arg1, dims = [2, 3, 1, 0] : (tensor<4x3x3x3xf32>) -> tensor<3x3x3x4xf32>
// CHECK: %[[C:.*]] = hlo.convolution(%arg0, %[[K]]) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, 0, 1, f]{{.*}} -> tensor<2x6x6x4xf32>
// CHECK: %[[P:.*]] = hlo.pad %[[C]], %{{.*}}, low = [0, 1, 2, 0], high = [0, 0, 0, 3], interior = [0, 0, 1, 0] : {{.*}} -> tensor<2x7x13x7xf32>
// CHECK: %[[S:.*]] = hlo.slice %[[P]] [0:2, 1:7, 2:12:2, 0:4]
// CHECK: hlo.transpose %[[S]], dims = [0, 3, 1, 2] : (tensor<2x6x5x4xf32>) -> tensor<2x4x6x5xf32>
func.func @convolution(%x: tensor<2x3x8x8xf32>, %k: tensor<4x3x3x3xf32>) -> tensor<2x4x6x5xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %l = hlo.copy %k : (tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xf32, #hlo.layout<[0, 1, 3, 2]>>
  %0 = hlo.convolution(%x, %l) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32, #hlo.layout<[0, 1, 3, 2]>>) -> tensor<2x4x6x6xf32, #hlo.layout<[1, 3, 2, 0]>>
  %1 = hlo.pad %0, %zero, low = [0, 0, 1, 2], high = [0, 3, 0, 0], interior = [0, 0, 0, 1] : (tensor<2x4x6x6xf32, #hlo.layout<[1, 3, 2, 0]>>, tensor<f32>) -> tensor<2x7x7x13xf32, #hlo.layout<[1, 3, 2, 0]>>
  %2 = hlo.slice %1 [0:2, 0:4, 1:7, 2:12:2] : (tensor<2x7x7x13xf32, #hlo.layout<[1, 3, 2, 0]>>) -> tensor<2x4x6x5xf32, #hlo.layout<[1, 3, 2, 0]>>
  %3 = hlo.copy %2 : (tensor<2x4x6x5xf32, #hlo.layout<[1, 3, 2, 0]>>) -> tensor<2x4x6x5xf32>
  return %3 : tensor<2x4x6x5xf32>
}

// The operands of a dot change places, and their precisions with them; the transpose is none.
// CHECK-LABEL: func.func @product
// CHECK: %[[D:.*]] = hlo.dot_general %arg1, %arg0, contracting_dims = [0] x [1], precision = [HIGHEST, DEFAULT] : (tensor<16x8xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
// CHECK: return %[[D]]
func.func @product(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> tensor<8x4xf32> {
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32, #hlo.layout<[0, 1]>>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<4x8xf32, #hlo.layout<[0, 1]>>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// Batch dimensions in the result's order, free ones in the operand's.
// CHECK-LABEL: func.func @batches
// CHECK: %[[X:.*]] = hlo.transpose %arg0, dims = [0, 3, 1, 2] : (tensor<2x3x4x5xf32>) -> tensor<2x5x3x4xf32>
// CHECK: hlo.dot_general %[[X]], %arg1, batching_dims = [2, 0] x [1, 0], contracting_dims = [3] x [2] : {{.*}} -> tensor<3x2x5x6xf32>
func.func @batches(%x: tensor<2x3x4x5xf32>, %y: tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32> {
  %0 = hlo.copy %x : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32, #hlo.layout<[2, 1, 3, 0]>>
  %1 = hlo.dot_general %0, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4x5xf32, #hlo.layout<[2, 1, 3, 0]>>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32, #hlo.layout<[3, 2, 0, 1]>>
  %2 = hlo.copy %1 : (tensor<2x3x5x6xf32, #hlo.layout<[3, 2, 0, 1]>>) -> tensor<2x3x5x6xf32>
  return %2 : tensor<2x3x5x6xf32>
}

// A reshape that splits a dimension keeps its parts together: 4 x 2 x 3 of 4 x 6 in memory.
// CHECK-LABEL: func.func @split
// CHECK: %[[T:.*]] = hlo.transpose %arg0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
// CHECK: %[[R:.*]] = hlo.reshape %[[T]] : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
// CHECK: hlo.reduce(%[[R]] init: %{{.*}}) applies hlo.add across dimensions = [1] : {{.*}} -> tensor<4x3xf32>
func.func @split(%x: tensor<6x4xf32>) -> tensor<3x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.copy %x : (tensor<6x4xf32>) -> tensor<6x4xf32, #hlo.layout<[0, 1]>>
  %1 = hlo.reshape %0 : (tensor<6x4xf32, #hlo.layout<[0, 1]>>) -> tensor<2x3x4xf32, #hlo.layout<[1, 0, 2]>>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<2x3x4xf32, #hlo.layout<[1, 0, 2]>>, tensor<f32>) -> tensor<3x4xf32, #hlo.layout<[0, 1]>>
  %3 = hlo.copy %2 : (tensor<3x4xf32, #hlo.layout<[0, 1]>>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// A dot whose batch stands between free dimensions in memory is a dot and a transpose.
// CHECK-LABEL: func.func @rows_of_heads
// CHECK: %[[D:.*]] = hlo.dot_general %arg0, %arg1, {{.*}} -> tensor<4x8x16xf32>
// CHECK-NEXT: %[[T:.*]] = hlo.transpose %[[D]], dims = [1, 0, 2] : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>
// CHECK-NEXT: return %[[T]]
func.func @rows_of_heads(%a: tensor<4x8x6xf32>, %b: tensor<4x6x16xf32>) -> tensor<8x4x16xf32> {
  %0 = hlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x6xf32>, tensor<4x6x16xf32>) -> tensor<4x8x16xf32, #hlo.layout<[2, 0, 1]>>
  %1 = hlo.transpose %0, dims = [1, 0, 2] : (tensor<4x8x16xf32, #hlo.layout<[2, 0, 1]>>) -> tensor<8x4x16xf32>
  return %1 : tensor<8x4x16xf32>
}

// A copy of a constant is a constant, one of an iota an iota.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: hlo.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: hlo.iota dim = 1 : tensor<2x2xf32>
// CHECK-NOT: hlo.transpose %cst
func.func @constants(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = hlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %i = hlo.iota dim = 0 : tensor<2x2xf32>
  %0 = hlo.copy %c : (tensor<2x2xf32>) -> tensor<2x2xf32, #hlo.layout<[0, 1]>>
  %1 = hlo.copy %i : (tensor<2x2xf32>) -> tensor<2x2xf32, #hlo.layout<[0, 1]>>
  %2 = hlo.copy %x : (tensor<2x2xf32>) -> tensor<2x2xf32, #hlo.layout<[0, 1]>>
  %3 = hlo.add %0, %1 : tensor<2x2xf32, #hlo.layout<[0, 1]>>
  %4 = hlo.multiply %3, %2 : tensor<2x2xf32, #hlo.layout<[0, 1]>>
  %5 = hlo.copy %4 : (tensor<2x2xf32, #hlo.layout<[0, 1]>>) -> tensor<2x2xf32>
  return %5 : tensor<2x2xf32>
}

// Layouts that an op cannot have count as row-major: those of arguments, and of a solution.
// CHECK-LABEL: func.func @not_taken
// CHECK-SAME: (%arg0: tensor<3x3xf32>, %arg1: tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: hlo.triangular_solve{{.*}}%arg0, %arg1
// CHECK-NOT: hlo.transpose
func.func @not_taken(%a: tensor<3x3xf32, #hlo.layout<[0, 1]>>, %x: tensor<3x4xf32, #hlo.layout<[0, 1]>>) -> tensor<3x4xf32, #hlo.layout<[0, 1]>> {
  %0 = "hlo.triangular_solve"(%a, %x) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32, #hlo.layout<[0, 1]>>, tensor<3x4xf32, #hlo.layout<[0, 1]>>) -> tensor<3x4xf32, #hlo.layout<[0, 1]>>
  return %0 : tensor<3x4xf32, #hlo.layout<[0, 1]>>
}

// A sort goes along its dimension wherever that is; so do the windows of a scatter.
// CHECK-LABEL: func.func @sort
// CHECK: %[[T:.*]] = hlo.transpose %arg0, dims = [1, 0]
// CHECK: "hlo.sort"(%[[T]]) <{dimension = 0 : i64}>
// CHECK: -> tensor<4x3xf32>
func.func @sort(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "hlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32, #hlo.layout<[0, 1]>>
  %1 = hlo.copy %0 : (tensor<3x4xf32, #hlo.layout<[0, 1]>>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @scatter
// CHECK: %[[T:.*]] = hlo.transpose %arg0, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
// CHECK: "hlo.scatter"(%[[T]], %arg1, %arg2) <{
// CHECK-SAME: update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]
func.func @scatter(%x: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<4x5xf32> {
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32, #hlo.layout<[0, 1]>>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<5x4xf32, #hlo.layout<[0, 1]>>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// What a loop carries is turned ahead of it, and its result behind it.
// CHECK-LABEL: func.func @loop
// CHECK: %[[T:.*]] = hlo.transpose %arg0, dims = [1, 0]
// CHECK: hlo.while(%{{.*}} = %{{.*}}, %[[A:.*]] = %[[T]]) : tensor<i32>, tensor<4x3xf32>
// CHECK: hlo.tanh %[[A]] : tensor<4x3xf32>
// CHECK: hlo.transpose {{.*}} : (tensor<4x3xf32>) -> tensor<3x4xf32>
func.func @loop(%x: tensor<3x4xf32>, %n: tensor<i32>) -> tensor<3x4xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %t = hlo.copy %x : (tensor<3x4xf32>) -> tensor<3x4xf32, #hlo.layout<[0, 1]>>
  %0:2 = hlo.while(%i = %zero, %a = %t) : tensor<i32>, tensor<3x4xf32, #hlo.layout<[0, 1]>>
  cond {
    %p = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  } do {
    %h = hlo.tanh %a : tensor<3x4xf32, #hlo.layout<[0, 1]>>
    %j = hlo.add %i, %one : tensor<i32>
    hlo.return %j, %h : tensor<i32>, tensor<3x4xf32, #hlo.layout<[0, 1]>>
  }
  %1 = hlo.copy %0#1 : (tensor<3x4xf32, #hlo.layout<[0, 1]>>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
