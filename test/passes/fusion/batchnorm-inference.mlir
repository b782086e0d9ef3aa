// Batch normalisation with known statistics reads and writes its input once; the deviations of the features are a step ahead.
// 2 x 1048576 bytes and 5 x 256 of parameters; the roots are written and read, 2 x 256.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: {{[12]$}}
// CHECK: traffic fused: 2098{{[0-9]+}} bytes
// CHECK: traffic floor: 2098176 bytes
// CHECK: fused above floor: 0.0

module @jit_inf attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16x16x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64xf32>) -> (tensor<16x16x16x64xf32> {jax.result_info = "result"}) {
    %0 = hlo.broadcast_in_dim %arg3, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %1 = hlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<16x16x16x64xf32>
    %2 = hlo.subtract %arg0, %1 : tensor<16x16x16x64xf32>
    %cst = hlo.constant dense<9.99999974E-6> : tensor<f32>
    %3 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %4 = hlo.add %arg4, %3 : tensor<64xf32>
    %5 = hlo.sqrt %4 : tensor<64xf32>
    %6 = hlo.broadcast_in_dim %5, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %7 = hlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<16x16x16x64xf32>
    %8 = hlo.divide %2, %7 : tensor<16x16x16x64xf32>
    %9 = hlo.broadcast_in_dim %arg1, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %10 = hlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<16x16x16x64xf32>
    %11 = hlo.multiply %8, %10 : tensor<16x16x16x64xf32>
    %12 = hlo.broadcast_in_dim %arg2, dims = [3] : (tensor<64xf32>) -> tensor<1x1x1x64xf32>
    %13 = hlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x64xf32>) -> tensor<16x16x16x64xf32>
    %14 = hlo.add %11, %13 : tensor<16x16x16x64xf32>
    return %14 : tensor<16x16x16x64xf32>
  }
}
