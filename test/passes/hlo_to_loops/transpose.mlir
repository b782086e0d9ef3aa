// A transpose in a fused kernel is an index map: where its loads are strided, a square tile of the
// operand is loaded along its rows and transposed in registers.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// The result is 9 x 4: tiles of 4 x 4, two rounds of shuffles (log2(4)), and their rows one by one;
// the ninth row is a tile of its own, for which lanes are gathered, 9 elements apart.
// CHECK-LABEL: func.func @add_transpose_fusion_0(
// CHECK: %[[TILE:.*]] = memref.alloca() {alignment = 64} : memref<16xf32>
// CHECK-COUNT-4: vector.load %in0[{{.*}}] : memref<36xf32>, vector<4xf32>
// CHECK-COUNT-8: vector.shuffle
// CHECK-COUNT-4: vector.store {{.*}} : memref<16xf32>, vector<4xf32>
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.load %[[TILE]]
// CHECK-NEXT: %[[BIAS:.*]] = memref.load %in1
// CHECK-NEXT: %[[SPLAT:.*]] = vector.broadcast %[[BIAS]] : f32 to vector<4xf32>
// CHECK-NEXT: arith.addf %[[X]], %[[SPLAT]] : vector<4xf32>
// CHECK: vector.store {{.*}}, %out0
// CHECK: arith.constant dense<[0, 9, 18, 27]>
// CHECK: vector.gather %in0
// CHECK: vector.store {{.*}}, %out0
func.func @main(%x: tensor<4x9xf32>, %b: tensor<9xf32>) -> tensor<9x4xf32> {
  %w = "hlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<4x9xf32>
  %0 = "hlo.add"(%x, %w) : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %1 = "hlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x9xf32>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}
