// A matrix with few vectors is read once, contiguous along the depth: one that stays in a core's own cache by
// neighbouring rows, a larger one in four streams of rows.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// Rows along the contracted dimension, 100 of them: blocks of 64 = 8 x 8 rows, and a rest of 36 = 4 x 8 + 4. Eight
// sums in registers for one vector; their lanes are added up together, in 4 + 2 + 1 additions of pairs and one of
// what is left, where each sum of its own would take four.
// CHECK-LABEL: func.func @dot_general_add_fusion_0(
// CHECK: memref.alloca() {alignment = 64} : memref<64xf32>
// CHECK: scf.for
// CHECK-COUNT-8: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK-COUNT-8: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.addf
// CHECK: vector.store {{.*}} vector<8xf32>
// What follows the dot is applied to 16 sums at a time.
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.store {{.*}} %out0
// CHECK: return
func.func @main(%x: tensor<1x256xf32>, %a: tensor<100x256xf32>, %c: tensor<100xf32>) -> tensor<1x100xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<1x256xf32>, tensor<100x256xf32>) -> tensor<1x100xf32>
  %w = hlo.reshape %c : (tensor<100xf32>) -> tensor<1x100xf32>
  %1 = hlo.add %0, %w : tensor<1x100xf32>
  return %1 : tensor<1x100xf32>
}
