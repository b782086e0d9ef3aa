// The dot of matrices contracts the last dimension with the first.
// RUN: hlo-opt --expand-dot %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = "hlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
