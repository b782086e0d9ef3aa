// Cross entropy with its gradient: the logits are read once for maxima, exponentials and their sums, which one kernel stores, and once
// where the labels are; the gradient is one kernel. No matrix of 256 x 1000 is stored but exponentials and gradient.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 5{{$}}
// CHECK: reduce_subtract_exponential_log_fusion [row]
// CHECK: negate_reduce_divide_add_fusion [row]
// CHECK: traffic fused: 5132292 bytes

module @jit_xent attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1000xf32>, %arg1: tensor<256xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<256x1000xf32> {jax.result_info = "result[1]"}) {
    %0:3 = call @log_softmax(%arg0) : (tensor<256x1000xf32>) -> (tensor<256x1000xf32>, tensor<256x1000xf32>, tensor<256x1xf32>)
    %1 = hlo.broadcast_in_dim %arg1, dims = [0] : (tensor<256xi32>) -> tensor<256x1xi32>
    %2:2 = call @take_along_axis(%0#0, %1) : (tensor<256x1000xf32>, tensor<256x1xi32>) -> (tensor<256x1xf32>, tensor<256x1x1xi32>)
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = hlo.reduce(%2#0 init: %cst) applies hlo.add across dimensions = [0, 1] : (tensor<256x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %4 = hlo.divide %3, %cst_0 : tensor<f32>
    %5 = hlo.negate %4 : tensor<f32>
    %cst_1 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = hlo.negate %cst_1 : tensor<f32>
    %cst_2 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %7 = hlo.divide %6, %cst_2 : tensor<f32>
    %8 = hlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %9 = call @take_along_axis_0(%2#1, %8) : (tensor<256x1x1xi32>, tensor<256x1xf32>) -> tensor<256x1000xf32>
    %10 = call @log_softmax_1(%0#1, %0#2, %9) : (tensor<256x1000xf32>, tensor<256x1xf32>, tensor<256x1000xf32>) -> tensor<256x1000xf32>
    return %5, %10 : tensor<f32>, tensor<256x1000xf32>
  }
  func.func private @log_softmax(%arg0: tensor<256x1000xf32>) -> (tensor<256x1000xf32>, tensor<256x1000xf32>, tensor<256x1xf32>) {
    %cst = hlo.constant dense<0xFF800000> : tensor<f32>
    %0 = hlo.reduce(%arg0 init: %cst) applies hlo.maximum across dimensions = [1] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<256xf32>
    %cst_0 = hlo.constant dense<0xFF800000> : tensor<f32>
    %1 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2 = hlo.maximum %1, %0 : tensor<256xf32>
    %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1000xf32>
    %5 = hlo.subtract %arg0, %4 : tensor<256x1000xf32>
    %6 = hlo.exponential %5 : tensor<256x1000xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = hlo.reduce(%6 init: %cst_1) applies hlo.add across dimensions = [1] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<256xf32>
    %8 = hlo.broadcast_in_dim %7, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %9 = hlo.log %8 : tensor<256x1xf32>
    %10 = hlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1000xf32>
    %11 = hlo.subtract %5, %10 : tensor<256x1000xf32>
    return %11, %6, %8 : tensor<256x1000xf32>, tensor<256x1000xf32>, tensor<256x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<256x1000xf32>, %arg1: tensor<256x1xi32>) -> (tensor<256x1xf32>, tensor<256x1x1xi32>) {
    %c_0 = hlo.constant dense<0> : tensor<i32>
    %0 = hlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<256x1xi32>
    %1 = hlo.compare LT, %arg1, %0,  SIGNED : (tensor<256x1xi32>, tensor<256x1xi32>) -> tensor<256x1xi1>
    %c_1000 = hlo.constant dense<1000> : tensor<i32>
    %2 = hlo.broadcast_in_dim %c_1000, dims = [] : (tensor<i32>) -> tensor<256x1xi32>
    %3 = hlo.add %arg1, %2 : tensor<256x1xi32>
    %4 = hlo.select %1, %3, %arg1 : tensor<256x1xi1>, tensor<256x1xi32>
    %5 = hlo.reshape %4 : (tensor<256x1xi32>) -> tensor<256x1x1xi32>
    %c_999 = hlo.constant dense<999> : tensor<1xi32>
    %c_0_0 = hlo.constant dense<0> : tensor<i32>
    %6 = hlo.broadcast_in_dim %c_0_0, dims = [] : (tensor<i32>) -> tensor<256x1x1xi32>
    %7 = hlo.compare GE, %5, %6,  SIGNED : (tensor<256x1x1xi32>, tensor<256x1x1xi32>) -> tensor<256x1x1xi1>
    %8 = hlo.broadcast_in_dim %c_999, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = hlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<256x1x1xi32>
    %10 = hlo.compare LE, %5, %9,  SIGNED : (tensor<256x1x1xi32>, tensor<256x1x1xi32>) -> tensor<256x1x1xi1>
    %11 = hlo.and %7, %10 : tensor<256x1x1xi1>
    %c_1 = hlo.constant dense<true> : tensor<i1>
    %12 = hlo.reduce(%11 init: %c_1) applies hlo.and across dimensions = [2] : (tensor<256x1x1xi1>, tensor<i1>) -> tensor<256x1xi1>
    %13 = "hlo.gather"(%arg0, %5) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<256x1000xf32>, tensor<256x1x1xi32>) -> tensor<256x1xf32>
    %cst = hlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %15 = hlo.select %12, %13, %14 : tensor<256x1xi1>, tensor<256x1xf32>
    return %15, %5 : tensor<256x1xf32>, tensor<256x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<256x1x1xi32>, %arg1: tensor<256x1xf32>) -> tensor<256x1000xf32> {
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1000xf32>
    %1 = "hlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = hlo.add %arg2, %arg3 : tensor<f32>
      hlo.return %2 : tensor<f32>
    }) : (tensor<256x1000xf32>, tensor<256x1x1xi32>, tensor<256x1xf32>) -> tensor<256x1000xf32>
    return %1 : tensor<256x1000xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<256x1000xf32>, %arg1: tensor<256x1xf32>, %arg2: tensor<256x1000xf32>) -> tensor<256x1000xf32> {
    %0 = hlo.negate %arg2 : tensor<256x1000xf32>
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = hlo.reduce(%0 init: %cst) applies hlo.add across dimensions = [1] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<256xf32>
    %2 = hlo.reshape %1 : (tensor<256xf32>) -> tensor<256x1xf32>
    %3 = hlo.divide %2, %arg1 : tensor<256x1xf32>
    %cst_0 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = hlo.reduce(%3 init: %cst_0) applies hlo.add across dimensions = [1] : (tensor<256x1xf32>, tensor<f32>) -> tensor<256xf32>
    %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<256xf32>) -> tensor<256x1000xf32>
    %6 = hlo.multiply %5, %arg0 : tensor<256x1000xf32>
    %7 = hlo.add %arg2, %6 : tensor<256x1000xf32>
    return %7 : tensor<256x1000xf32>
  }
}
