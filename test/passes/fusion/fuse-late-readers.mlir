// A reader that stays outside of a kernel with two results follows the kernel, wherever it stood.
// RUN: hlo-opt --fuse %s | FileCheck %s

// CHECK: %[[F:.*]]:2 = "hlo.fusion"(%arg1, %arg0, %arg2)
// CHECK: %[[R:.*]] = hlo.reshape %[[F]]#1
// CHECK: hlo.slice %[[R]]
func.func @main(%x: tensor<5x16xi32>, %y: tensor<5x16xi32>, %z: tensor<80xi32>) -> (tensor<80xi32>, tensor<18xi32>) {
  %0 = hlo.or %y, %x : tensor<5x16xi32>
  %1 = hlo.reshape %0 : (tensor<5x16xi32>) -> tensor<80xi32>
  %2 = hlo.multiply %1, %z : tensor<80xi32>
  %3 = hlo.subtract %2, %z : tensor<80xi32>
  %4 = hlo.slice %1 [0:18] : (tensor<80xi32>) -> tensor<18xi32>
  return %3, %4 : tensor<80xi32>, tensor<18xi32>
}
