// A donated argument is the result's memory: the update writes one element and copies nothing.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: memref<64xf32>, %[[U:.*]]: memref<1xf32>, %[[I:.*]]: memref<1xi32>
// CHECK-NOT: memref.copy
// CHECK: call @dynamic_update_slice_0(%[[X]], %[[U]], %[[I]], %[[X]])
// CHECK-NOT: memref.copy
// CHECK: return
func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<1xf32>, %i: tensor<i32>) -> tensor<64xf32> {
  %d = "hlo.dynamic_update_slice"(%x, %u, %i) : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>
  return %d : tensor<64xf32>
}
