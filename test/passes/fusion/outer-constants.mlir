// A constant that the loop's body takes from around it goes into the kernel: no buffer is filled with it.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func @main
// CHECK-NOT: call @fill
// CHECK: return
func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %half = hlo.constant dense<0.5> : tensor<64xf32>
  %w:2 = "hlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<64xf32>):
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<64xf32>):
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %b = hlo.sine %a : tensor<64xf32>
    %d = hlo.multiply %b, %half : tensor<64xf32>
    hlo.return %j, %d : tensor<i32>, tensor<64xf32>
  }) : (tensor<i32>, tensor<64xf32>) -> (tensor<i32>, tensor<64xf32>)
  return %w#1 : tensor<64xf32>
}
