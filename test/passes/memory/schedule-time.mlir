// Two sums over %x of 16 MiB, each multiplied by a matrix of 64 MiB of its own. One after the other
// the sums find %x in the cache; with a product in between they do not, and only one sum is live.
// RUN: hlo-opt --schedule %s | FileCheck %s
// RUN: hlo-opt --schedule='most-slowdown=inf' %s | FileCheck %s --check-prefix=LEAST

// CHECK: hlo.reduce
// CHECK: hlo.reduce
// CHECK: hlo.dot_general
// CHECK: hlo.dot_general

// LEAST: hlo.reduce
// LEAST: hlo.dot_general
// LEAST: hlo.reduce
// LEAST: hlo.dot_general

func.func @main(%x: tensor<8x524288xf32>, %y: tensor<524288x32xf32>, %z: tensor<524288x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %a = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<8x524288xf32>, tensor<f32>) -> tensor<524288xf32>
  %b = hlo.reduce(%x init: %zero) applies hlo.maximum across dimensions = [0] : (tensor<8x524288xf32>, tensor<f32>) -> tensor<524288xf32>
  %p = hlo.dot_general %a, %y, contracting_dims = [0] x [0] : (tensor<524288xf32>, tensor<524288x32xf32>) -> tensor<32xf32>
  %q = hlo.dot_general %b, %z, contracting_dims = [0] x [0] : (tensor<524288xf32>, tensor<524288x32xf32>) -> tensor<32xf32>
  return %p, %q : tensor<32xf32>, tensor<32xf32>
}
