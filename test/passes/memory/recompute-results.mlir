// What a kernel stores and its reader can make again in a few cheap ops is not stored.
// RUN: hlo-opt --recompute-results --split-input-file %s | FileCheck %s
// RUN: hlo-opt --recompute-results --split-input-file %s | hlo-opt --recompute-results --split-input-file | FileCheck %s

// The square and the tanh plus one are made again of the input and the tanh; the tanh itself is dear.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]]:2 = "hlo.fusion"(%arg0)
// CHECK: hlo.return %[[T:.*]], %[[H:.*]] : tensor<64x32xf32>, tensor<64x32xf32>
// CHECK: "hlo.fusion"(%[[F]]#0, %[[F]]#1) <{kind = "loop"
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<64x32xf32>, %[[B:.*]]: tensor<64x32xf32>):
// CHECK-NEXT: hlo.constant dense<1.000000e+00>
// CHECK-NEXT: %[[U:.*]] = hlo.add %[[A]]
// CHECK-NEXT: %[[S:.*]] = hlo.multiply %[[B]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = hlo.multiply %[[U]], %[[S]]
// CHECK-NEXT: hlo.return %[[R]]
func.func @main(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0:4 = "hlo.fusion"(%x) <{kind = "loop", name = "forward"}> ({
  ^bb0(%a: tensor<64x32xf32>):
    %h = hlo.negate %a : tensor<64x32xf32>
    %s = hlo.multiply %h, %h : tensor<64x32xf32>
    %t = hlo.tanh %s : tensor<64x32xf32>
    %one = hlo.constant dense<1.0> : tensor<64x32xf32>
    %u = hlo.add %t, %one : tensor<64x32xf32>
    hlo.return %u, %t, %s, %h : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  }) : (tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
  %1 = "hlo.fusion"(%0#0, %0#2) <{kind = "loop", name = "backward"}> ({
  ^bb0(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>):
    %p = hlo.multiply %a, %b : tensor<64x32xf32>
    hlo.return %p : tensor<64x32xf32>
  }) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = "hlo.fusion"(%1, %0#1, %0#3) <{kind = "loop", name = "last"}> ({
  ^bb0(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>, %c: tensor<64x32xf32>):
    %p = hlo.multiply %a, %b : tensor<64x32xf32>
    %q = hlo.add %p, %c : tensor<64x32xf32>
    hlo.return %q : tensor<64x32xf32>
  }) : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// -----
// A transpose reads elements elsewhere, and what leaves the function is needed in memory: both stay.
// CHECK-LABEL: func.func @stays
// CHECK: "hlo.fusion"(%arg0)
// CHECK: hlo.return %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
func.func @stays(%x: tensor<64x32xf32>) -> (tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %0:3 = "hlo.fusion"(%x) <{kind = "loop", name = "forward"}> ({
  ^bb0(%a: tensor<64x32xf32>):
    %h = hlo.tanh %a : tensor<64x32xf32>
    %s = hlo.multiply %h, %h : tensor<64x32xf32>
    %n = hlo.negate %h : tensor<64x32xf32>
    hlo.return %s, %n, %h : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  }) : (tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
  %1 = hlo.transpose %0#0, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %1, %0#1, %0#2 : tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}
