// Layer normalisation reads its input once, the scale and the offset: 2 x 1048576 + 2 x 4096 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-NOT: not fused because
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}1.01 MiB {{ *}}1 MiB {{.*}}[row]
// CHECK: traffic fused: 2105344 bytes
// CHECK: traffic floor: 2105344 bytes
// CHECK: fused above floor: 0.00%

module @layernorm {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<1024xf32>, %arg2: tensor<1024xf32>) -> (tensor<256x1024xf32>) {
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = hlo.reduce(%arg0 init: %cst) applies hlo.add across dimensions = [1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
    %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %cst_0 = hlo.constant dense<1.024000e+03> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %3 = hlo.divide %1, %2 : tensor<256x1xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %5 = hlo.subtract %arg0, %4 : tensor<256x1024xf32>
    %6 = hlo.multiply %5, %5 : tensor<256x1024xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = hlo.reduce(%6 init: %cst_1) applies hlo.add across dimensions = [1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256xf32>
    %8 = hlo.broadcast_in_dim %7, dims = [0] : (tensor<256xf32>) -> tensor<256x1xf32>
    %cst_2 = hlo.constant dense<1.024000e+03> : tensor<f32>
    %9 = hlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %10 = hlo.divide %8, %9 : tensor<256x1xf32>
    %11 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %12 = hlo.subtract %arg0, %11 : tensor<256x1024xf32>
    %cst_3 = hlo.constant dense<9.99999974E-6> : tensor<f32>
    %13 = hlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x1xf32>
    %14 = hlo.add %10, %13 : tensor<256x1xf32>
    %15 = hlo.rsqrt %14 : tensor<256x1xf32>
    %16 = hlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %17 = hlo.multiply %12, %16 : tensor<256x1024xf32>
    %18 = hlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %19 = hlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %20 = hlo.multiply %17, %19 : tensor<256x1024xf32>
    %21 = hlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %22 = hlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<256x1024xf32>
    %23 = hlo.add %20, %22 : tensor<256x1024xf32>
    return %23 : tensor<256x1024xf32>
  }
}
