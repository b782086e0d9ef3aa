// A carry does not take over a buffer that the loop reads again in every iteration.
// RUN: hlo-opt --compile-to=host --disable-pass=fuse-horizontally %s | FileCheck %s

// CHECK: func.func @main(%{{.*}}: memref<8xf32>, %{{.*}}: memref<1xi32>, %[[RESULT:[^:]*]]: memref<8xf32>,
// CHECK: %[[M:.*]] = memref.alloc() {hlo.name = "sort"} : memref<8xf32>
// CHECK: @sort_0(%{{.*}}, %[[M]], %{{.*}})
// CHECK: memref.copy %[[M]], %[[RESULT]]
// CHECK: } do {
// CHECK: func.call @add_{{[0-9]+}}(%[[RESULT]], %[[M]], %[[RESULT]])
func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %m = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>) -> tensor<8xf32>
  %zero = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:2 = "hlo.while"(%zero, %m) ({
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>):
    %c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %s = "hlo.add"(%a, %m) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "hlo.return"(%j, %s) : (tensor<i32>, tensor<8xf32>) -> ()
  }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
  return %0#1 : tensor<8xf32>
}
