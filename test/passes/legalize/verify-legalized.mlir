// An op that is left over is an error that names it and its place.
// RUN: %not hlo-opt --verify-legalized %s 2>&1 | FileCheck %s

// CHECK: verify-legalized.mlir
// CHECK-SAME: 'hlo.dot': cannot be compiled for the CPU
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = "hlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
