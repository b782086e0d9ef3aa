// The exponential does not change in the loop and leaves it; the constant is cheaper to make there.
// RUN: hlo-opt --hoist-loop-invariants %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = hlo.exponential %arg1
// CHECK: hlo.while
// CHECK: hlo.constant dense<3>
// CHECK: hlo.multiply %{{.*}}, %[[E]]
func.func @main(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %c0 = hlo.constant dense<0> : tensor<i32>
  %0:3 = "hlo.while"(%c0, %x, %w) ({
  ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>):
    %n = hlo.constant dense<100> : tensor<i32>
    %1 = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>):
    %s = hlo.constant dense<3> : tensor<i32>
    %1 = hlo.add %i, %s : tensor<i32>
    %2 = hlo.exponential %w : tensor<3xf32>
    %3 = hlo.multiply %a, %2 : tensor<3xf32>
    hlo.return %1, %3, %b : tensor<i32>, tensor<3xf32>, tensor<3xf32>
  }) : (tensor<i32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<3xf32>)
  return %0#1 : tensor<3xf32>
}
