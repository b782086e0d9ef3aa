// Rows of a tile walk what only the left operand has, here 9 rows in tiles of 8 and 1: they share the
// vectors of the right operand. Walking 2, which the right operand has too, they would not.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %in1
// CHECK: vector.load %in1
// CHECK: vector.load %in1
// CHECK-NOT: vector.load %in1
// CHECK: scf.yield
func.func @main(%w: tensor<9x5xf32>, %x: tensor<2x5x48xf32>) -> tensor<9x2x48xf32> {
  %0 = "hlo.dot_general"(%w, %x) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<9x5xf32>, tensor<2x5x48xf32>) -> tensor<9x2x48xf32>
  return %0 : tensor<9x2x48xf32>
}
