// A product with a matrix, what is computed of it row by row, and the product with the matrix's
// transpose are one kernel, which also stores what is wanted of the rows; not what needs all rows.
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s

// CHECK-LABEL: func.func public @main
// CHECK: hlo.fusion"(%arg0, %arg1, %arg2) <{kind = "two_products", name = "two_products_fusion"}>
// CHECK: %[[Z:.*]] = hlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0]
// CHECK: %[[P:.*]] = hlo.logistic %[[Z]]
// CHECK: %[[R:.*]] = hlo.subtract %[[P]], %{{.*}}
// CHECK: %[[G:.*]] = hlo.dot_general %[[R]], %{{.*}}, contracting_dims = [0] x [0]
// CHECK: hlo.return %[[G]], %[[Z]]
// CHECK-NOT: two_products
func.func public @main(%x: tensor<256x32xf32>, %v: tensor<32xf32>, %y: tensor<256xf32>) -> (tensor<32xf32>, tensor<256xf32>, tensor<32xf32>) {
  %z = "hlo.dot_general"(%x, %v) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<256x32xf32>, tensor<32xf32>) -> tensor<256xf32>
  %p = "hlo.logistic"(%z) : (tensor<256xf32>) -> tensor<256xf32>
  %r = "hlo.subtract"(%p, %y) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %g = "hlo.dot_general"(%r, %x) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<256xf32>, tensor<256x32xf32>) -> tensor<32xf32>
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %a = "hlo.dot_general"(%x, %g) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<256x32xf32>, tensor<32xf32>) -> tensor<256xf32>
  %sum = "hlo.reduce"(%a, %zero) ({
    ^bb0(%l: tensor<f32>, %m: tensor<f32>):
      %n = "hlo.add"(%l, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "hlo.return"(%n) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
  %all = "hlo.broadcast_in_dim"(%sum) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<256xf32>
  %b = "hlo.divide"(%a, %all) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %h = "hlo.dot_general"(%b, %x) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<256xf32>, tensor<256x32xf32>) -> tensor<32xf32>
  return %g, %z, %h : tensor<32xf32>, tensor<256xf32>, tensor<32xf32>
}
