// What a comparator reads from around it becomes an operand of the sort; constants stay.
// RUN: hlo-opt --prepare-sorts %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]] = hlo.negate %arg1
// CHECK: %[[WIDE:.*]] = hlo.broadcast_in_dim %[[K]], dims = [] : (tensor<f32>) -> tensor<8xf32>
// CHECK: "hlo.sort"(%arg0, %[[WIDE]])
// CHECK: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>, %[[K1:.*]]: tensor<f32>, %{{.*}}: tensor<f32>):
// CHECK: hlo.multiply %[[A]], %[[K1]]

// CHECK-LABEL: func.func @constant
// CHECK: "hlo.sort"(%arg0)
func.func @main(%x: tensor<8xf32>, %k: tensor<f32>) -> tensor<8xf32> {
  %o = "hlo.negate"(%k) : (tensor<f32>) -> tensor<f32>
  %0 = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "hlo.multiply"(%a, %o) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %c = "hlo.compare"(%s, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @constant(%x: tensor<8xf32>) -> tensor<8xf32> {
  %o = "hlo.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "hlo.multiply"(%a, %o) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %c = "hlo.compare"(%s, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
