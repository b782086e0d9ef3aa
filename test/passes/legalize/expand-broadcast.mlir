// Leading dimensions are added in front of the operand's.
// RUN: hlo-opt --expand-broadcast %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
func.func @main(%a: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "hlo.broadcast"(%a) {broadcast_sizes = array<i64: 2>} : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
