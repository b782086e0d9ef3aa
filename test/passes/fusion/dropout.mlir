// Dropout with random bits at hand: mask, scaling and selection are one kernel, the mask is never stored. 3 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: traffic fused: 3145728 bytes
// CHECK: traffic floor: 3145728 bytes

module @jit_d attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<256x1024xui32>) -> (tensor<256x1024xf32> {jax.result_info = "result"}) {
    %c_3865470566 = hlo.constant dense<3865470566> : tensor<ui32>
    %0 = hlo.broadcast_in_dim %c_3865470566, dims = [] : (tensor<ui32>) -> tensor<256x1024xui32>
    %1 = hlo.compare LT, %arg1, %0,  UNSIGNED : (tensor<256x1024xui32>, tensor<256x1024xui32>) -> tensor<256x1024xi1>
    %cst = hlo.constant dense<0.899999976> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %3 = hlo.divide %arg0, %2 : tensor<256x1024xf32>
    %cst_0 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = call @_where(%1, %3, %cst_0) : (tensor<256x1024xi1>, tensor<256x1024xf32>, tensor<f32>) -> tensor<256x1024xf32>
    return %4 : tensor<256x1024xf32>
  }
  func.func private @_where(%arg0: tensor<256x1024xi1>, %arg1: tensor<256x1024xf32>, %arg2: tensor<f32>) -> tensor<256x1024xf32> {
    %0 = hlo.convert %arg2 : tensor<f32>
    %1 = hlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2 = hlo.select %arg0, %arg1, %1 : tensor<256x1024xi1>, tensor<256x1024xf32>
    return %2 : tensor<256x1024xf32>
  }
}
