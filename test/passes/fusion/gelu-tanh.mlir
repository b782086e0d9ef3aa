// GELU with tanh reads and writes 256 x 1024 floats once: 2 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-NOT: not fused because
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}1 MiB {{ *}}1 MiB {{.*}}[loop]
// CHECK: traffic fused: 2097152 bytes
// CHECK: traffic floor: 2097152 bytes
// CHECK: fused above floor: 0.00%

module @gelu_tanh {
  func.func public @main(%arg0: tensor<256x1024xf32>) -> (tensor<256x1024xf32>) {
    %0 = hlo.multiply %arg0, %arg0 : tensor<256x1024xf32>
    %1 = hlo.multiply %0, %arg0 : tensor<256x1024xf32>
    %cst = hlo.constant dense<4.471500e-02> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %3 = hlo.multiply %2, %1 : tensor<256x1024xf32>
    %4 = hlo.add %arg0, %3 : tensor<256x1024xf32>
    %cst_0 = hlo.constant dense<0.797884583> : tensor<f32>
    %5 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %6 = hlo.multiply %5, %4 : tensor<256x1024xf32>
    %7 = hlo.tanh %6 : tensor<256x1024xf32>
    %cst_1 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = hlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %9 = hlo.add %8, %7 : tensor<256x1024xf32>
    %cst_2 = hlo.constant dense<5.000000e-01> : tensor<f32>
    %10 = hlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %11 = hlo.multiply %10, %9 : tensor<256x1024xf32>
    %12 = hlo.multiply %arg0, %11 : tensor<256x1024xf32>
    return %12 : tensor<256x1024xf32>
  }
}
