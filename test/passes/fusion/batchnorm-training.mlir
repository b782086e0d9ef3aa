// Batch normalisation of columns whose elements share sets of the first-level cache reads its input twice, for mean and variance and for
// the result, and writes only that. 3 x 1048576 bytes are 3145728; partial sums, 16 x 1024 of each kind, and parameters come on top.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 2{{$}}
// CHECK: {{\[steps\]}}
// CHECK: {{\[loop\]}}
// CHECK: traffic fused: 34{{[0-9]+}} bytes
// CHECK: traffic floor: 2105344 bytes

module @jit_bn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<1024xf32>, %arg2: tensor<1024xf32>) -> (tensor<256x1024xf32> {jax.result_info = "result"}) {
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = hlo.reduce(%arg0 init: %cst) applies hlo.add across dimensions = [0] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %cst_0 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %1 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2 = hlo.divide %0, %1 : tensor<1024xf32>
    %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %5 = hlo.subtract %arg0, %4 : tensor<256x1024xf32>
    %6 = hlo.multiply %5, %5 : tensor<256x1024xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = hlo.reduce(%6 init: %cst_1) applies hlo.add across dimensions = [0] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %cst_2 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %8 = hlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %9 = hlo.divide %7, %8 : tensor<1024xf32>
    %10 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %11 = hlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %12 = hlo.subtract %arg0, %11 : tensor<256x1024xf32>
    %cst_3 = hlo.constant dense<9.99999974E-6> : tensor<f32>
    %13 = hlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %14 = hlo.add %9, %13 : tensor<1024xf32>
    %15 = hlo.rsqrt %14 : tensor<1024xf32>
    %16 = hlo.broadcast_in_dim %15, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %17 = hlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %18 = hlo.multiply %12, %17 : tensor<256x1024xf32>
    %19 = hlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %20 = hlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %21 = hlo.multiply %18, %20 : tensor<256x1024xf32>
    %22 = hlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %23 = hlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %24 = hlo.add %21, %23 : tensor<256x1024xf32>
    return %24 : tensor<256x1024xf32>
  }
}
