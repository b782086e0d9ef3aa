// Calls become the bodies of their functions, located at the call; private functions go.
// RUN: hlo-opt --inline-calls %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: call
// CHECK: %[[DOUBLE:.*]] = hlo.add %arg0, %arg0
// CHECK: %[[SQUARE:.*]] = hlo.multiply %[[DOUBLE]], %[[DOUBLE]]
// CHECK: return %[[SQUARE]]
// CHECK-NOT: func.func
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "hlo.composite"(%0) {name = "my.square", decomposition = @square} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
