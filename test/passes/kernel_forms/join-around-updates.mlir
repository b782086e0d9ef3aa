// An update of most of a tensor that is computed of what lies beside it is joined with what is around
// it, the last dimension first; starts are clamped.
// RUN: hlo-opt --join-around-updates %s | FileCheck %s

// CHECK-LABEL: func.func @inside
// CHECK: %[[U:.*]] = hlo.add
// CHECK-NEXT: %[[LEFT:.*]] = hlo.slice %arg0 [2:8, 0:1]
// CHECK-NEXT: %[[RIGHT:.*]] = hlo.slice %arg0 [2:8, 7:8]
// CHECK-NEXT: %[[ROWS:.*]] = hlo.concatenate %[[LEFT]], %[[U]], %[[RIGHT]], dim = 1 : {{.*}} -> tensor<6x8xf32>
// CHECK-NEXT: %[[ABOVE:.*]] = hlo.slice %arg0 [0:2, 0:8]
// CHECK-NEXT: %[[ALL:.*]] = hlo.concatenate %[[ABOVE]], %[[ROWS]], dim = 0 : {{.*}} -> tensor<8x8xf32>
// CHECK-NEXT: return %[[ALL]]
func.func @inside(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %one = hlo.constant dense<1> : tensor<i32>
  %nine = hlo.constant dense<9> : tensor<i32>
  %0 = hlo.slice %x [2:8, 0:6] : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %1 = hlo.slice %x [2:8, 2:8] : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %2 = hlo.add %0, %1 : tensor<6x6xf32>
  %3 = hlo.dynamic_update_slice %x, %2, %nine, %one : (tensor<8x8xf32>, tensor<6x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// What is computed of the same elements is updated in place; so is a small part, and one that begins
// somewhere.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-3: hlo.dynamic_update_slice
// CHECK-NOT: hlo.concatenate
func.func @in_place(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>, %i: tensor<i32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %one = hlo.constant dense<1> : tensor<i32>
  %0 = hlo.slice %x [1:7, 1:7] : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %1 = hlo.negate %0 : tensor<6x6xf32>
  %2 = hlo.dynamic_update_slice %x, %1, %one, %one : (tensor<8x8xf32>, tensor<6x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  %3 = hlo.slice %y [0:3, 0:8] : (tensor<8x8xf32>) -> tensor<3x8xf32>
  %4 = hlo.dynamic_update_slice %y, %3, %one, %one : (tensor<8x8xf32>, tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  %5 = hlo.slice %z [0:6, 0:6] : (tensor<8x8xf32>) -> tensor<6x6xf32>
  %6 = hlo.dynamic_update_slice %z, %5, %i, %one : (tensor<8x8xf32>, tensor<6x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  return %2, %4, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
