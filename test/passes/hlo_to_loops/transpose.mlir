// A transpose in a fused kernel is an index map: strided lanes are gathered, and what all lanes
// share is loaded once, ahead of their loop.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// The result is 5 x 4: four lanes, an element of each row of x, 5 apart.
// CHECK-LABEL: func.func @add_transpose_fusion_0(
// CHECK: scf.for %[[COLUMN:.*]] = %begin
// CHECK-NEXT: %[[BIAS:.*]] = memref.load %in0[%[[COLUMN]]]
// CHECK-NEXT: scf.for
// CHECK: arith.constant dense<[0, 5, 10, 15]>
// CHECK: %[[X:.*]] = vector.gather %in1
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[BIAS]] : f32 to vector<4xf32>
// CHECK: arith.addf %[[X]], %[[SPLAT]] : vector<4xf32>
// CHECK: vector.store
func.func @main(%x: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<5x4xf32> {
  %w = "hlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64: 1>} : (tensor<5xf32>) -> tensor<4x5xf32>
  %0 = "hlo.add"(%x, %w) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = "hlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}
