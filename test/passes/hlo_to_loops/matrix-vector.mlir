// A matrix with few vectors is read once, in four streams of rows: contiguous along the depth.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// Rows along the contracted dimension, 100 of them: blocks of 64 = 4 streams x 16 rows, and a rest
// of 36 = 4 x 9. Four sums in registers for one vector.
// CHECK-LABEL: func.func @dot_general_add_fusion_0(
// CHECK: memref.alloca() {alignment = 64} : memref<64xf32>
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
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
