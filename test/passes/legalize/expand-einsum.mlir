// A sum of products becomes a dot, put into the result's order.
// RUN: hlo-opt --expand-einsum %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[DOT:.*]] = hlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1]
// CHECK: hlo.transpose %[[DOT]], dims = [1, 0]
func.func @main(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %0 = "hlo.einsum"(%a, %b) {einsum_config = "ab,cb->ca"} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
