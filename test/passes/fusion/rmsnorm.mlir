// RMS normalisation reads each row once, and the scale: 2 x 1048576 + 4096 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: {{\[row\]}}
// CHECK: traffic fused: 2101248 bytes
// CHECK: traffic floor: 2101248 bytes

module @jit_rms attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<1024xf32>) -> (tensor<256x1024xf32> {jax.result_info = "result"}) {
    %0 = hlo.multiply %arg0, %arg0 : tensor<256x1024xf32>
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = hlo.reduce(%0 init: %cst) applies hlo.add across dimensions = [1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
    %2 = hlo.broadcast_in_dim %1, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %cst_0 = hlo.constant dense<1.024000e+03> : tensor<f32>
    %3 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %4 = hlo.divide %2, %3 : tensor<256x1xf32>
    %cst_1 = hlo.constant dense<9.99999997E-7> : tensor<f32>
    %5 = hlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %6 = hlo.add %4, %5 : tensor<256x1xf32>
    %7 = hlo.rsqrt %6 : tensor<256x1xf32>
    %8 = hlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %9 = hlo.multiply %arg0, %8 : tensor<256x1024xf32>
    %10 = hlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %11 = hlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %12 = hlo.multiply %9, %11 : tensor<256x1024xf32>
    return %12 : tensor<256x1024xf32>
  }
}
