// Rotary embedding: halves of each head are read where they are, turned, and written side by side, in one kernel.
// 2 x 3145728 bytes, sines and cosines 2 x 16384.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 1{{$}}
// CHECK: traffic fused: 6324224 bytes
// CHECK: traffic floor: 6324224 bytes

module @jit_rope attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x128x12x64xf32>, %arg1: tensor<128x1x32xf32>, %arg2: tensor<128x1x32xf32>) -> (tensor<8x128x12x64xf32> {jax.result_info = "result"}) {
    %0 = hlo.slice %arg0 [0:8, 0:128, 0:12, 0:32] : (tensor<8x128x12x64xf32>) -> tensor<8x128x12x32xf32>
    %1 = hlo.slice %arg0 [0:8, 0:128, 0:12, 32:64] : (tensor<8x128x12x64xf32>) -> tensor<8x128x12x32xf32>
    %2 = hlo.broadcast_in_dim %arg2, dims = [1, 2, 3] : (tensor<128x1x32xf32>) -> tensor<1x128x1x32xf32>
    %3 = hlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x128x1x32xf32>) -> tensor<8x128x12x32xf32>
    %4 = hlo.multiply %0, %3 : tensor<8x128x12x32xf32>
    %5 = hlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<128x1x32xf32>) -> tensor<1x128x1x32xf32>
    %6 = hlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x128x1x32xf32>) -> tensor<8x128x12x32xf32>
    %7 = hlo.multiply %1, %6 : tensor<8x128x12x32xf32>
    %8 = hlo.subtract %4, %7 : tensor<8x128x12x32xf32>
    %9 = hlo.broadcast_in_dim %arg2, dims = [1, 2, 3] : (tensor<128x1x32xf32>) -> tensor<1x128x1x32xf32>
    %10 = hlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x128x1x32xf32>) -> tensor<8x128x12x32xf32>
    %11 = hlo.multiply %1, %10 : tensor<8x128x12x32xf32>
    %12 = hlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<128x1x32xf32>) -> tensor<1x128x1x32xf32>
    %13 = hlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x128x1x32xf32>) -> tensor<8x128x12x32xf32>
    %14 = hlo.multiply %0, %13 : tensor<8x128x12x32xf32>
    %15 = hlo.add %11, %14 : tensor<8x128x12x32xf32>
    %16 = hlo.concatenate %8, %15,  dim = 3 : (tensor<8x128x12x32xf32>, tensor<8x128x12x32xf32>) -> tensor<8x128x12x64xf32>
    return %16 : tensor<8x128x12x64xf32>
  }
}
