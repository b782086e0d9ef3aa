// Partial sums and their sum are one launch: 128 units in parallel, then a tail of one.
// RUN: hlo-opt --split-reductions --fuse --join-reduction-steps %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @main
// CHECK: "hlo.fusion"(%arg0) <{kind = "steps"
// CHECK: %[[PARTS:.*]] = "hlo.fusion"({{.*}}) <{kind = "reduce"
// CHECK: -> tensor<128xf32>
// CHECK: "hlo.fusion"(%[[PARTS]])
// CHECK: hlo.reduce
// CHECK: hlo.sqrt
// CHECK: hlo.reason = "partial results of a reduction are reduced when all are there: in one launch they take

// HOST: func.func private @[[K:.*]](memref<1048576xf32>, memref<1xf32>, memref<128xf32>) attributes
// HOST-SAME: hlo.tail = 1 : i64, hlo.units = 129 : i64
// HOST: call @[[K]](
// HOST-NEXT: return

// A reader that must wait for something else does not keep the input of the partial sums alive: they stay apart.
// CHECK-LABEL: func.func private @waits
// CHECK: %[[PARTS:.*]] = "hlo.fusion"({{.*}}) <{kind = "reduce"
// CHECK: hlo.sort
// CHECK: "hlo.fusion"({{.*}}%[[PARTS]]
func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
  %c = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<1048576xf32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %2 = hlo.sqrt %1 : tensor<f32>
  return %2 : tensor<f32>
}
func.func private @waits(%x: tensor<1048576xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c = hlo.constant dense<0.0> : tensor<f32>
  %s = "hlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  %0 = hlo.multiply %s, %s : tensor<1048576xf32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %t = "hlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %w = hlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %2 = hlo.multiply %t, %w : tensor<8xf32>
  return %2 : tensor<8xf32>
}
