// A deep product is multiplied in parts of the depth, between which its sums wait in memory.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 64 rows are 2 units of 4 tiles, 384 steps 2 parts of 192: sums of 4 tiles of 8 x 48 wait for the second.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: memref.alloca() {{.*}} : memref<9216xf32>
// CHECK: memref.alloca() {{.*}} : memref<1536xf32>
// What is packed next is fetched meanwhile: 3 lines for every 4 steps, as there are 4 tiles.
// CHECK: %{{.*}}:24 = scf.for
// CHECK-COUNT-3: memref.prefetch %in1
// CHECK-COUNT-24: math.fma
// Nothing follows the last sums: they are stored from their registers.
// CHECK-COUNT-24: vector.store {{.*}} %out0
// CHECK-NOT: %out0
// CHECK: return
func.func @main(%a: tensor<64x384xf32>, %b: tensor<48x384xf32>) -> tensor<64x48xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<64x384xf32>, tensor<48x384xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}
