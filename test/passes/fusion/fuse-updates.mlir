// A scatter takes in the kernels that make its updates and its indices for it alone.
// RUN: hlo-opt --fuse --fuse-updates %s | FileCheck %s

// Messages along edges: rows of x are looked up, scaled by the edge, and added up; nothing of 50 x 8 is stored.
// CHECK-LABEL: func.func @messages
// CHECK: %[[SUM:.*]] = hlo.constant dense<0.0
// CHECK-NEXT: %[[R:.*]] = "hlo.fusion"({{.*}}) <{kind = "update", name = "gather_multiply_scatter_fusion"}>
// CHECK: hlo.gather
// CHECK: hlo.multiply
// CHECK: hlo.scatter
// CHECK: return %[[R]]
func.func @messages(%x: tensor<9x8xf32>, %from: tensor<50x1xi32>, %to: tensor<50x1xi32>, %w: tensor<50xf32>) -> tensor<9x8xf32> {
  %zero = hlo.constant dense<0.0> : tensor<9x8xf32>
  %0 = "hlo.gather"(%x, %from) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<9x8xf32>, tensor<50x1xi32>) -> tensor<50x8xf32>
  %1 = hlo.broadcast_in_dim %w, dims = [0] : (tensor<50xf32>) -> tensor<50x8xf32>
  %2 = hlo.multiply %0, %1 : tensor<50x8xf32>
  %3 = "hlo.scatter"(%zero, %to, %2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9x8xf32>, tensor<50x1xi32>, tensor<50x8xf32>) -> tensor<9x8xf32>
  return %3 : tensor<9x8xf32>
}

// Updates that something else reads are stored; so are those that are dear to compute, and elements that fill no
// vector.
// CHECK-LABEL: func.func @stored
// CHECK-NOT: kind = "update"
// CHECK: hlo.scatter
// CHECK: hlo.scatter
// CHECK: hlo.scatter
// CHECK: return
func.func @stored(%x: tensor<9x8xf32>, %y: tensor<9xf32>, %at: tensor<50x1xi32>, %u: tensor<50x8xf32>, %v: tensor<50xf32>) -> (tensor<9x8xf32>, tensor<50x8xf32>, tensor<9x8xf32>, tensor<9xf32>) {
  %0 = hlo.multiply %u, %u : tensor<50x8xf32>
  %1 = hlo.subtract %0, %u : tensor<50x8xf32>
  %2 = "hlo.scatter"(%x, %at, %1) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9x8xf32>, tensor<50x1xi32>, tensor<50x8xf32>) -> tensor<9x8xf32>
  %3 = hlo.tanh %u : tensor<50x8xf32>
  %4 = hlo.negate %3 : tensor<50x8xf32>
  %5 = "hlo.scatter"(%x, %at, %4) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9x8xf32>, tensor<50x1xi32>, tensor<50x8xf32>) -> tensor<9x8xf32>
  %6 = hlo.add %v, %v : tensor<50xf32>
  %7 = hlo.multiply %6, %v : tensor<50xf32>
  %8 = "hlo.scatter"(%y, %at, %7) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<9xf32>
  return %2, %1, %5, %8 : tensor<9x8xf32>, tensor<50x8xf32>, tensor<9x8xf32>, tensor<9xf32>
}
