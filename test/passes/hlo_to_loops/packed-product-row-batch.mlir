// Outer rows of a left operand that do not lie at one distance are a batch, whose right operand is the same.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// Rows are 32768 elements apart from batch to batch and 1 within it: 8 matrices of 128 x 256, a unit each, of 22 tiles
// of 6 rows and 4 panels of 64 columns.
// CHECK: func.func private @dot_general_0({{.*}}) attributes {{.*}}hlo.units = 8
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-DAG: %[[MATRIX:.*]] = arith.constant 32768 : index
// CHECK: scf.for %[[UNIT:[^ ]*]] = %begin
// CHECK-NEXT: arith.muli %[[UNIT]], %[[MATRIX]] : index
// CHECK: %in0[
// CHECK: vector.load %in1
// CHECK: math.fma
func.func @main(%a: tensor<8x256x128xf32>, %b: tensor<256x256xf32>) -> tensor<8x128x256xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x256x128xf32>, tensor<256x256xf32>) -> tensor<8x128x256xf32>
  return %0 : tensor<8x128x256xf32>
}
