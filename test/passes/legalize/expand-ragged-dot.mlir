// Every group's product is computed, and each row keeps its own group's; where that is much more, 64 groups of 1024 rows, a loop
// takes blocks of 16 rows, the average, of one group each.
// RUN: hlo-opt --expand-ragged-dot %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.dot_general %arg0, %arg1
// CHECK: hlo.select
// CHECK: hlo.reduce
// CHECK-NOT: ragged
func.func @main(%a: tensor<6x4xf32>, %b: tensor<2x4x3xf32>, %n: tensor<2xi32>) -> tensor<6x3xf32> {
  %0 = "hlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
    : (tensor<6x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

// CHECK-LABEL: func.func @many
// CHECK-NOT: hlo.dot_general %arg0
// CHECK: hlo.while
// CHECK: hlo.dynamic_slice %arg1, {{.*}} sizes = [1, 256, 256]
// CHECK: hlo.dot_general %{{.*}} : (tensor<16x256xf32>, tensor<256x256xf32>) -> tensor<16x256xf32>
// CHECK: hlo.dynamic_update_slice
// CHECK-NOT: ragged
func.func @many(%a: tensor<1024x256xf32>, %b: tensor<64x256x256xf32>, %n: tensor<64xi32>) -> tensor<1024x256xf32> {
  %0 = "hlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
    : (tensor<1024x256xf32>, tensor<64x256x256xf32>, tensor<64xi32>) -> tensor<1024x256xf32>
  return %0 : tensor<1024x256xf32>
}
