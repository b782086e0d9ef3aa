// Threads divide the columns of wide windows, 3072 bytes into 4 units; 512 bytes are one: half of them take as long.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// CHECK: func.func private @scatter_0{{.*}} hlo.units = 4
func.func @main(%x: tensor<1000x768xf32>, %i: tensor<500x1xi32>, %u: tensor<500x768xf32>) -> tensor<1000x768xf32> {
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<1000x768xf32>, tensor<500x1xi32>, tensor<500x768xf32>) -> tensor<1000x768xf32>
  return %0 : tensor<1000x768xf32>
}

// -----
// CHECK: func.func private @scatter_0{{.*}} hlo.units = 1
func.func @main(%x: tensor<1000x128xf32>, %i: tensor<500x1xi32>, %u: tensor<500x128xf32>) -> tensor<1000x128xf32> {
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<1000x128xf32>, tensor<500x1xi32>, tensor<500x128xf32>) -> tensor<1000x128xf32>
  return %0 : tensor<1000x128xf32>
}
