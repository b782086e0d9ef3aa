// The largest elements come from a stable sort in total order, largest first.
// RUN: hlo-opt --expand-top-k %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[INDEX:.*]] = hlo.iota dim = 0 : tensor<8xi32>
// CHECK: %[[SORTED:.*]]:2 = "hlo.sort"(%arg0, %[[INDEX]])
// CHECK-SAME: is_stable = true
// CHECK: hlo.compare GT, {{.*}}, TOTALORDER
// CHECK: hlo.slice %[[SORTED]]#0 [0:2]
// CHECK: hlo.slice %[[SORTED]]#1 [0:2]
func.func @main(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0:2 = hlo.top_k(%x, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}
