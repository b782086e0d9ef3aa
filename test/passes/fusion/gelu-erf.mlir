// GELU with erf reads and writes 256 x 1024 floats once: 2 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-NOT: not fused because
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}1 MiB {{ *}}1 MiB {{.*}}[loop]
// CHECK: traffic fused: 2097152 bytes
// CHECK: traffic floor: 2097152 bytes
// CHECK: fused above floor: 0.00%

module @gelu_erf {
  func.func public @main(%arg0: tensor<256x1024xf32>) -> (tensor<256x1024xf32>) {
    %cst = hlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1 = hlo.multiply %0, %arg0 : tensor<256x1024xf32>
    %2 = hlo.negate %arg0 : tensor<256x1024xf32>
    %cst_0 = hlo.constant dense<0.707106769> : tensor<f32>
    %3 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %4 = hlo.multiply %2, %3 : tensor<256x1024xf32>
    %5 = hlo.erfc %4 : tensor<256x1024xf32> -> tensor<256x1024xf32>
    %6 = hlo.multiply %1, %5 : tensor<256x1024xf32>
    return %6 : tensor<256x1024xf32>
  }
}
