// A sort takes in the positions it carries along and slices of its first elements; what nothing reads
// is no result of it.
// RUN: hlo-opt --fuse-sorts %s | FileCheck %s

// The longest slice is stored; the other one reads it.
// CHECK-LABEL: func.func @top_k
// CHECK-NEXT: %[[F:.*]]:2 = "hlo.fusion"(%arg0) <{kind = "sort", name = "sort_fusion"}>
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[I:.*]] = hlo.iota dim = 0 : tensor<8xi32>
// CHECK-NEXT: %[[S:.*]]:2 = "hlo.sort"(%[[X]], %[[I]])
// CHECK: hlo.slice %[[S]]#0 [0:3]
// CHECK: hlo.slice %[[S]]#1 [0:3]
// CHECK: -> (tensor<3xf32>, tensor<3xi32>)
// CHECK-NEXT: %[[ONE:.*]] = hlo.slice %[[F]]#1 [0:1]
// CHECK-NEXT: return %[[F]]#0, %[[ONE]]
func.func @top_k(%x: tensor<8xf32>) -> (tensor<3xf32>, tensor<1xi32>) {
  %i = hlo.iota dim = 0 : tensor<8xi32>
  %0:2 = "hlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %m: tensor<i32>, %n: tensor<i32>):
    %c = hlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %1 = hlo.slice %0#0 [0:3] : (tensor<8xf32>) -> tensor<3xf32>
  %2 = hlo.slice %0#1 [0:1] : (tensor<8xi32>) -> tensor<1xi32>
  return %1, %2 : tensor<3xf32>, tensor<1xi32>
}

// Argsort: the sorted values are not wanted. The iota has another reader.
// CHECK-LABEL: func.func @argsort
// CHECK-NEXT: %[[I:.*]] = hlo.iota dim = 1
// CHECK-NEXT: %[[F:.*]] = "hlo.fusion"(%arg0)
// CHECK: hlo.return %{{.*}}#1 : tensor<2x8xi32>
// CHECK: -> tensor<2x8xi32>
// CHECK: return %[[F]], %[[I]]
func.func @argsort(%x: tensor<2x8xi32>) -> (tensor<2x8xi32>, tensor<2x8xi32>) {
  %i = hlo.iota dim = 1 : tensor<2x8xi32>
  %0:2 = "hlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %m: tensor<i32>, %n: tensor<i32>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x8xi32>, tensor<2x8xi32>) -> (tensor<2x8xi32>, tensor<2x8xi32>)
  return %0#1, %i : tensor<2x8xi32>, tensor<2x8xi32>
}

// Not positions: an iota along another dimension, one that is a key, one of floats. Slices that do
// not begin at the start need the whole line.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NOT: hlo.fusion
func.func @as_it_is(%x: tensor<2x8xi32>) -> (tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x3xi32>) {
  %i = hlo.iota dim = 0 : tensor<2x8xi32>
  %k = hlo.iota dim = 1 : tensor<2x8xi32>
  %f = hlo.iota dim = 1 : tensor<2x8xf32>
  %0:3 = "hlo.sort"(%k, %i, %f) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %m: tensor<i32>, %n: tensor<i32>, %o: tensor<f32>, %p: tensor<f32>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xf32>)
  %1 = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x8xi32>) -> tensor<2x8xi32>
  %2 = hlo.slice %1 [0:2, 1:4] : (tensor<2x8xi32>) -> tensor<2x3xi32>
  return %0#0, %0#1, %1, %0#2, %2 : tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x3xi32>
}
