// Zeros that an update starts from are filled into the result's memory: no buffer, no copy.
// RUN: hlo-opt --compile-to=placed %s | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[INDICES:arg0]]: memref<4xi32>, %[[UPDATES:arg1]]: memref<256xf32>, %[[RESULT:arg2]]: memref<64000xf32>)
// CHECK-NOT: memref.alloc
// CHECK: call @fill_{{[0-9]+}}(%[[RESULT]])
// CHECK-NOT: memref.copy
// CHECK: call @scatter_{{[0-9]+}}(%[[RESULT]], %[[INDICES]], %[[UPDATES]], %[[RESULT]])
func.func @main(%i: tensor<4x1xi32>, %u: tensor<4x64xf32>) -> tensor<1000x64xf32> {
  %zeros = hlo.constant dense<0.0> : tensor<1000x64xf32>
  %0 = "hlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<1000x64xf32>, tensor<4x1xi32>, tensor<4x64xf32>) -> tensor<1000x64xf32>
  return %0 : tensor<1000x64xf32>
}
