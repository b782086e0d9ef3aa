// A product whose left operand is transposed packs it, and fetches what it packs next meanwhile.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 48 columns are 3 vectors: tiles of 8 rows, 2 units of 2; the depth of 704 goes in 4 parts of 176 steps.
// CHECK-LABEL: func.func @dot_general_0(
// Rows of a panel are packed by the first tile: 176 steps x 48.
// CHECK: memref.alloca() {{.*}} : memref<8448xf32>
// A run of 16 rows: 176 x 16 + 16.
// CHECK: memref.alloca() {{.*}} : memref<2832xf32>
// 16 rows of the left operand are a line a step: 176 lines, for 2 tiles of 44 runs of 4 steps: 2 each.
// CHECK: memref.prefetch %in0{{.*}} locality<2>
// CHECK: memref.prefetch %in0{{.*}} locality<2>
// CHECK-NOT: memref.prefetch %in0
// CHECK: memref.prefetch %in1
// CHECK-COUNT-24: math.fma
// CHECK: return
func.func @main(%a: tensor<704x32xf32>, %b: tensor<704x48xf32>) -> tensor<32x48xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<704x32xf32>, tensor<704x48xf32>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
