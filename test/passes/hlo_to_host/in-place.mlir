// Elementwise kernels write over operands that die there; a kernel that reads elsewhere does not.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: %[[SORTED:.*]] = memref.alloc() {hlo.name = "sort"} : memref<64xf32>
// CHECK: call @[[SORT:sort_[0-9]+]](%{{.*}}, %[[SORTED]], %{{.*}})
// CHECK-NEXT: call @exponential_{{[0-9]+}}(%[[SORTED]], %[[SORTED]])
// A sort moves elements about, but its library does so within one buffer.
// CHECK: call @[[SORT]](%[[SORTED]], %[[SORTED]], %{{.*}})
// A reversal reads its operand's elements at other places than those it writes.
// CHECK-NEXT: call @reverse_{{[0-9]+}}(%[[SORTED]], %arg1)
// CHECK-NEXT: return
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %s = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<64xf32>) -> tensor<64xf32>
  %e = "hlo.exponential"(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %t = "hlo.sort"(%e) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<64xf32>) -> tensor<64xf32>
  %0 = "hlo.reverse"(%t) {dimensions = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
