// The gradient of an activation is stored and summed over its rows, for the bias, by one launch: the sums do not read it again.
// 3 x 1048576 bytes, partial sums of 128 x 128 floats written and read, 512 of the result.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: {{\[steps\]}}
// CHECK: traffic fused: 3277312 bytes

func.func @main(%x: tensor<2048x128xf32>, %y: tensor<2048x128xf32>) -> (tensor<2048x128xf32>, tensor<128xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %y : tensor<2048x128xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<2048x128xf32>, tensor<f32>) -> tensor<128xf32>
  return %0, %1 : tensor<2048x128xf32>, tensor<128xf32>
}
