// What becomes one kernel, and of which kind.
// RUN: hlo-opt --fuse %s | FileCheck %s
// RUN: hlo-opt --fuse='max_ops=2' %s | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @loop
// CHECK: "hlo.fusion"(%arg1, %arg0) <{kind = "loop", name = "add_sine_transpose_fusion"}>
// CHECK: hlo.broadcast_in_dim
// CHECK: hlo.add
// CHECK: hlo.sine
// CHECK: hlo.transpose
// CHECK: hlo.return
// Two ops at the most: the transpose takes the sine in, and nothing more.
// SMALL-LABEL: func.func @loop
// SMALL: "hlo.fusion"({{.*}}) <{kind = "loop", name = "add_fusion"}>
// SMALL: "hlo.fusion"({{.*}}) <{kind = "loop", name = "sine_transpose_fusion"}>

// The scalar that the reduction starts from is copied into the kernel.
// CHECK-LABEL: func.func @reduce
// CHECK: "hlo.fusion"(%arg0) <{kind = "reduce", name = "multiply_reduce_fusion"}>
// CHECK: hlo.constant
// CHECK: hlo.multiply
// CHECK: hlo.reduce

// A row stays in the cache between its two passes.
// CHECK-LABEL: func.func @row
// CHECK: "hlo.fusion"(%arg0) <{kind = "row", name = "exponential_reduce_divide_fusion"}>
// CHECK: hlo.exponential
// CHECK: hlo.reduce
// CHECK: hlo.divide

// Column sums are needed by all rows: they are computed once, in a kernel of their own.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: hlo.constant
// CHECK-NEXT: %[[SUMS:.*]] = hlo.reduce(%arg0
// CHECK-NEXT: "hlo.fusion"(%[[SUMS]], %arg0) <{kind = "loop", name = "divide_fusion"}>

// What follows a dot element by element is computed in its register tiles.
// CHECK-LABEL: func.func @epilogue
// CHECK: "hlo.fusion"({{.*}}) <{kind = "{{.*}}", name = "dot_general_add_fusion"}>
// CHECK: hlo.dot_general
// CHECK: hlo.add

// The operand that an update changes in place stays outside; the update's own values go in.
// CHECK-LABEL: func.func @update
// CHECK: %[[OPERAND:.*]] = hlo.negate %arg0
// CHECK: "hlo.fusion"({{.*}}%[[OPERAND]]{{.*}}) <{kind = "loop", name = "abs_dynamic_update_slice_fusion"}>
// CHECK: hlo.abs
// CHECK: hlo.dynamic_update_slice

// An update must not read, through a reversal, what it has overwritten already.
// CHECK-LABEL: func.func @hazard
// CHECK: %[[OPERAND:.*]] = hlo.negate
// CHECK: %[[TURNED:.*]] = hlo.reverse %[[OPERAND]]
// CHECK: hlo.dynamic_update_slice %[[OPERAND]], %[[TURNED]]

// Ops in a loop's body fuse, across its edge nothing does.
// CHECK-LABEL: func.func @body
// CHECK: %[[X:.*]] = hlo.negate %arg0
// CHECK: hlo.while
// CHECK: "hlo.fusion"({{.*}}) <{kind = "loop", name = "add_multiply_fusion"}>
func.func @loop(%x: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<16x8xf32> {
  %w = "hlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64: 1>} : (tensor<16xf32>) -> tensor<8x16xf32>
  %0 = "hlo.add"(%x, %w) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "hlo.sine"(%0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "hlo.transpose"(%1) {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}
func.func @reduce(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "hlo.multiply"(%x, %x) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "hlo.reduce"(%0, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "hlo.return"(%s) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func @row(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %e = "hlo.exponential"(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "hlo.reduce"(%e, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "hlo.return"(%s) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %w = "hlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8x16xf32>
  %2 = "hlo.divide"(%e, %w) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
func.func @columns(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "hlo.reduce"(%x, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "hlo.return"(%s) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %w = "hlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64: 1>} : (tensor<16xf32>) -> tensor<8x16xf32>
  %2 = "hlo.divide"(%x, %w) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
func.func @epilogue(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %w = "hlo.broadcast_in_dim"(%c) {broadcast_dimensions = array<i64: 1>} : (tensor<32xf32>) -> tensor<8x32xf32>
  %1 = "hlo.add"(%0, %w) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}
func.func @update(%x: tensor<8xf32>, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %m = "hlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %v = "hlo.abs"(%u) : (tensor<2xf32>) -> tensor<2xf32>
  %0 = "hlo.dynamic_update_slice"(%m, %v, %i) : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @hazard(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %m = "hlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %r = "hlo.reverse"(%m) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %0 = "hlo.dynamic_update_slice"(%m, %r, %i) : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @body(%x: tensor<8xf32>) -> tensor<8xf32> {
  %m = "hlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = "hlo.while"(%m) ({
  ^bb0(%a: tensor<8xf32>):
    %t = "hlo.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
    "hlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<8xf32>):
    %s = "hlo.add"(%a, %m) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %p = "hlo.multiply"(%s, %s) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "hlo.return"(%p) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
