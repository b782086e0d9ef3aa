// SwiGLU, silu(gate) * up: both are read once and the product is written: 3 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: traffic fused: 3145728 bytes
// CHECK: traffic floor: 3145728 bytes

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<256x1024xf32>) -> (tensor<256x1024xf32> {jax.result_info = "result"}) {
    %0 = call @silu(%arg0) : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    %1 = hlo.multiply %0, %arg1 : tensor<256x1024xf32>
    return %1 : tensor<256x1024xf32>
  }
  func.func private @silu(%arg0: tensor<256x1024xf32>) -> tensor<256x1024xf32> {
    %0 = hlo.negate %arg0 : tensor<256x1024xf32>
    %1 = hlo.exponential %0 : tensor<256x1024xf32>
    %cst = hlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %3 = hlo.add %2, %1 : tensor<256x1024xf32>
    %cst_0 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %5 = hlo.divide %4, %3 : tensor<256x1024xf32>
    %6 = hlo.multiply %arg0, %5 : tensor<256x1024xf32>
    return %6 : tensor<256x1024xf32>
  }
}
