// Identities are applied and what they leave unused goes; rules that round differently are an option.
// RUN: hlo-opt --simplify-ops %s | FileCheck %s
// RUN: hlo-opt --simplify-ops='fast=true' %s | FileCheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[THREE:.*]] = hlo.constant dense<3.000000e+00> : tensor<8xf32>
// CHECK-NEXT: hlo.divide %arg0, %[[THREE]]
// FAST-LABEL: func.func @main
// FAST: hlo.constant dense<0.333333343>
// FAST: hlo.multiply
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.constant dense<1.0> : tensor<f32>
  %1 = hlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %2 = hlo.multiply %x, %1 : tensor<8xf32>
  %3 = hlo.constant dense<3.0> : tensor<f32>
  %4 = hlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %5 = hlo.divide %2, %4 : tensor<8xf32>
  %6 = hlo.tanh %5 : tensor<8xf32>
  return %5 : tensor<8xf32>
}
