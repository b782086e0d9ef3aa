// Layers that compute the same share one kernel; one of another shape has its own.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func private @[[DOT:dot_general[^(]*]](memref<1024xf32>, memref<1024xf32>, memref<1024xf32>)
// CHECK-NOT: func.func private @dot_general{{.*}}memref<1024xf32>, memref<1024xf32>, memref<1024xf32>
// CHECK: func.func @main
// CHECK-COUNT-3: call @[[DOT]](
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>, %v: tensor<32x32xf32>, %u: tensor<32x5xf32>) -> tensor<32x5xf32> {
  %0 = "hlo.dot_general"(%x, %w) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = "hlo.tanh"(%0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = "hlo.dot_general"(%1, %v) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = "hlo.tanh"(%2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %4 = "hlo.dot_general"(%3, %w) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %5 = "hlo.tanh"(%4) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %6 = "hlo.dot_general"(%5, %u) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<32x32xf32>, tensor<32x5xf32>) -> tensor<32x5xf32>
  return %6 : tensor<32x5xf32>
}
