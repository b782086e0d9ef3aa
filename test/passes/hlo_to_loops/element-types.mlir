// Elements in memory take whole bytes; in registers narrow floats are f32, rounded after each op.
// RUN: hlo-opt --compile-to=host --disable-pass=fuse-horizontally %s | FileCheck %s

// Four bits live in a byte; what is above them is dropped and the sign copied up, by 8 - 4 = 4.
// CHECK-LABEL: func.func @add_0(%in0: memref<8xi8>, %out0: memref<8xi8>
// CHECK: %[[FOUR:.*]] = arith.constant dense<4> : vector<8xi8>
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK-NEXT: %[[UP:.*]] = arith.shli %[[SUM]], %[[FOUR]]
// CHECK-NEXT: arith.shrsi %[[UP]], %[[FOUR]]

// A bf16 is the upper half of an f32.
// CHECK-LABEL: func.func @multiply_1(%in0: memref<8xi16>, %out0: memref<8xi16>
// CHECK: arith.extui {{.*}} : vector<8xi16> to vector<8xi32>
// CHECK: arith.mulf {{.*}} : vector<8xf32>
// CHECK: arith.trunci {{.*}} : vector<8xi32> to vector<8xi16>

// Eight complex numbers are 8 x 2 = 16 floats, real and imaginary parts in turn.
// CHECK-LABEL: func.func @add_2(%in0: memref<16xf32>, %out0: memref<16xf32>
// CHECK: %[[PARTS:.*]]:2 = vector.deinterleave {{.*}} : vector<16xf32> -> vector<8xf32>
// CHECK: arith.addf %[[PARTS]]#0, %[[PARTS]]#0
// CHECK: arith.addf %[[PARTS]]#1, %[[PARTS]]#1
// CHECK: vector.interleave
func.func @main(%x: tensor<8xi4>, %y: tensor<8xbf16>, %z: tensor<8xcomplex<f32>>) -> (tensor<8xi4>, tensor<8xbf16>, tensor<8xcomplex<f32>>) {
  %0 = "hlo.add"(%x, %x) : (tensor<8xi4>, tensor<8xi4>) -> tensor<8xi4>
  %1 = "hlo.multiply"(%y, %y) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %2 = "hlo.add"(%z, %z) : (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %0, %1, %2 : tensor<8xi4>, tensor<8xbf16>, tensor<8xcomplex<f32>>
}
