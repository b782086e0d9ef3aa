// Beside the sums of many vectors registers hold the rows of the matrix, and one vector at a time.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 12 vectors of two rows: 24 sums; 12 vectors more and a row would be 37, more than 32 registers.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-2: vector.load %in1
// CHECK: vector.load %in0
// CHECK-COUNT-2: math.fma
// CHECK-NEXT: {{.*}} = arith.addi
// CHECK: vector.load %in0
// CHECK: scf.yield
func.func @main(%x: tensor<12x256xf32>, %a: tensor<100x256xf32>) -> tensor<12x100xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<12x256xf32>, tensor<100x256xf32>) -> tensor<12x100xf32>
  return %0 : tensor<12x100xf32>
}
