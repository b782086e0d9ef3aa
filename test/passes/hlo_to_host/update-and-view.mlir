// An update is made in the result's memory; its operand, needed afterwards, is copied there and
// the copy says why. A reshape is the same memory.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: memref<64xf32>, %{{.*}}, %[[U:.*]]: memref<1xf32>, %[[I:.*]]: memref<1xi32>, %[[SHAPED:[^:]*]]: memref<64xf32>, %[[SORTED:[^:]*]]: memref<64xf32>)
// CHECK-NEXT: %[[SCRATCH:.*]] = memref.alloc() {hlo.name = "scratch of sort"}
// CHECK-NEXT: call @sort_0(%[[X]], %[[SORTED]], %[[SCRATCH]])
// CHECK-NEXT: memref.copy %[[SORTED]], %[[SHAPED]] {hlo.reason = "dynamic_update_slice updates an operand that is needed afterwards"}
// CHECK-NEXT: call @dynamic_update_slice_1({{.*}}%[[SHAPED]])
// CHECK-NEXT: return
func.func @main(%x: tensor<64xf32>, %w: tensor<64x64xf32>, %u: tensor<1xf32>, %i: tensor<i32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  %s = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<64xf32>) -> tensor<64xf32>
  %d = "hlo.dynamic_update_slice"(%s, %u, %i) : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>
  %r = "hlo.reshape"(%d) : (tensor<64xf32>) -> tensor<8x8xf32>
  return %r, %s : tensor<8x8xf32>, tensor<64xf32>
}
