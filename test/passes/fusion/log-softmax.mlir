// Log-softmax reads each row from memory once, though it goes over it three times: 2 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: {{\[row\]}}
// CHECK: traffic fused: 2097152 bytes
// CHECK: traffic floor: 2097152 bytes

module @jit_logsm attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x1024xf32>) -> (tensor<256x1024xf32> {jax.result_info = "result"}) {
    %0 = call @log_softmax(%arg0) : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    return %0 : tensor<256x1024xf32>
  }
  func.func private @log_softmax(%arg0: tensor<256x1024xf32>) -> tensor<256x1024xf32> {
    %cst = hlo.constant dense<0xFF800000> : tensor<f32>
    %0 = hlo.reduce(%arg0 init: %cst) applies hlo.maximum across dimensions = [1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
    %cst_0 = hlo.constant dense<0xFF800000> : tensor<f32>
    %1 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2 = hlo.maximum %1, %0 : tensor<256xf32>
    %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %5 = hlo.subtract %arg0, %4 : tensor<256x1024xf32>
    %6 = hlo.exponential %5 : tensor<256x1024xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = hlo.reduce(%6 init: %cst_1) applies hlo.add across dimensions = [1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
    %8 = hlo.broadcast_in_dim %7, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %9 = hlo.log %8 : tensor<256x1xf32>
    %10 = hlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %11 = hlo.subtract %5, %10 : tensor<256x1024xf32>
    return %11 : tensor<256x1024xf32>
  }
}
