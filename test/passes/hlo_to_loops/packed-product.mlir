// A product whose right operand is turned is packed in panels; the sums stay in registers.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 48 columns are 3 vectors: a panel of 32 steps x 48; tiles have 8 rows, 32 rows are 4 tiles.
// CHECK-LABEL: func.func @dot_general_tanh_fusion_0(
// CHECK-DAG: memref.alloca() {{.*}} : memref<1536xf32>
// CHECK-DAG: %[[STEPS:.*]] = arith.constant 4 : index
// 8 x 48 sums of a tile.
// CHECK-DAG: memref.alloca() {{.*}} : memref<384xf32>
// A square of 16 columns x 16 steps is turned in 4 rounds of 16 shuffles.
// CHECK: vector.load %in1
// CHECK-COUNT-64: vector.shuffle
// CHECK: vector.store
// Nothing is packed after that: nothing is fetched ahead.
// CHECK-NOT: memref.prefetch
// 8 rows x 3 vectors, 4 steps between two looks at the end of the loop.
// CHECK: %{{.*}}:24 = scf.for {{.*}} step %[[STEPS]]
// CHECK-COUNT-96: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// What follows is applied to the tile's sums, a row of 3 vectors at a time.
// CHECK: scf.for
// CHECK-COUNT-3: vector.store {{.*}} %out0
// CHECK: return
func.func @main(%a: tensor<32x32xf32>, %b: tensor<48x32xf32>) -> tensor<32x48xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<32x32xf32>, tensor<48x32xf32>) -> tensor<32x48xf32>
  %1 = hlo.tanh %0 : tensor<32x48xf32>
  return %1 : tensor<32x48xf32>
}
