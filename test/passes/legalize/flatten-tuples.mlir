// Tuples in a signature become arguments and results of their own.
// RUN: hlo-opt --flatten-tuples %s | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<f32>, %arg1: tensor<i32>, %arg2: tensor<4xf32>) -> (tensor<i32>, tensor<f32>)
// CHECK-NOT: tuple
// CHECK: return %arg1, %arg0 : tensor<i32>, tensor<f32>
func.func @main(%x: tuple<tensor<f32>, tensor<i32>>, %y: tensor<4xf32>) -> tuple<tensor<i32>, tensor<f32>> {
  %0 = "hlo.get_tuple_element"(%x) {index = 0 : i32} : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
  %1 = "hlo.get_tuple_element"(%x) {index = 1 : i32} : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
  %2 = "hlo.tuple"(%1, %0) : (tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
  return %2 : tuple<tensor<i32>, tensor<f32>>
}
