// Many numbers divided by one: its reciprocal is computed ahead of the loop.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// Dividends that no two ones begin the exponent of, and divisors in the range; all others are divided.
// CHECK-LABEL: func.func @divide_fusion_0(
// CHECK: arith.divf {{.*}} : f32
// CHECK: scf.for
// CHECK: vector.load
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: } else {
// CHECK-NOT: arith.divf
// CHECK: math.fma
// CHECK: math.fma
// CHECK-NOT: arith.divf
// CHECK: return
func.func @main(%x: tensor<8x1024xf32>, %s: tensor<8xf32>) -> tensor<8x1024xf32> {
  %0 = hlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %1 = hlo.divide %x, %0 : tensor<8x1024xf32>
  return %1 : tensor<8x1024xf32>
}

// -----

// What a maximum was subtracted from has exponentials of at most 1: they are not looked at.
// CHECK-LABEL: func.func @{{[a-z_]*}}divide_fusion_0(
// CHECK: math.fma
// CHECK: arith.divf %{{.*}} : f32
// CHECK-NOT: vector.reduction <or>
// CHECK: math.fma
// CHECK: math.fma
// CHECK: return
func.func @main(%x: tensor<8x1024xf32>) -> tensor<8x1024xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = hlo.reduce(%x init: %low) applies hlo.maximum across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %2 = hlo.subtract %x, %1 : tensor<8x1024xf32>
  %3 = hlo.exponential %2 : tensor<8x1024xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %6 = hlo.divide %3, %5 : tensor<8x1024xf32>
  return %6 : tensor<8x1024xf32>
}

// -----

// The maximum of other rows bounds nothing.
// CHECK-LABEL: func.func @{{[a-z_]*}}divide_fusion_0(
// CHECK: vector.reduction <or>
// CHECK: return
func.func @main(%x: tensor<8x1024xf32>, %y: tensor<8x1024xf32>) -> tensor<8x1024xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = hlo.reduce(%y init: %low) applies hlo.maximum across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %2 = hlo.subtract %x, %1 : tensor<8x1024xf32>
  %3 = hlo.exponential %2 : tensor<8x1024xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %6 = hlo.divide %3, %5 : tensor<8x1024xf32>
  return %6 : tensor<8x1024xf32>
}
