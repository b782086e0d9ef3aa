// A broadcast that a loop's body reads is made in it; what reads its operands from memory keeps the
// one outside.
// RUN: hlo-opt --sink-broadcasts %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: hlo.iota
// CHECK: %[[OUTSIDE:.*]] = hlo.broadcast_in_dim %arg1, dims = [0]
// CHECK: hlo.while
// CHECK: do {
// CHECK-DAG: %[[W:.*]] = hlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
// CHECK-DAG: %[[I:.*]] = hlo.iota dim = 0 : tensor<8x4xf32>
// CHECK: %[[P:.*]] = hlo.multiply %{{.*}}, %[[W]]
// CHECK: hlo.add %[[P]], %[[I]]
// CHECK: hlo.dot_general %{{.*}}, %[[OUTSIDE]]
// CHECK: return %{{.*}}#1, %[[OUTSIDE]]
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<5> : tensor<i32>
  %w = hlo.broadcast_in_dim %y, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %i = hlo.iota dim = 0 : tensor<8x4xf32>
  %0:2 = hlo.while(%n = %zero, %c = %x) : tensor<i32>, tensor<8x4xf32>
    cond {
      %1 = hlo.compare LT, %n, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.multiply %c, %w : tensor<8x4xf32>
      %2 = hlo.add %1, %i : tensor<8x4xf32>
      %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      %4 = hlo.slice %3 [0:8, 0:4] : (tensor<8x8xf32>) -> tensor<8x4xf32>
      %5 = hlo.add %n, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<8x4xf32>
    }
  return %0#1, %w : tensor<8x4xf32>, tensor<8x4xf32>
}
