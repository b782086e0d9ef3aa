// Softmax of rows reads each row from memory once, though it goes over it three times: 2 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-NOT: not fused because
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}1 MiB {{ *}}1 MiB {{.*}}[row]
// CHECK: traffic fused: 2097152 bytes
// CHECK: traffic floor: 2097152 bytes
// CHECK: fused above floor: 0.00%

module @softmax {
  func.func public @main(%arg0: tensor<256x1024xf32>) -> (tensor<256x1024xf32>) {
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
    %9 = hlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x1024xf32>
    %10 = hlo.divide %6, %9 : tensor<256x1024xf32>
    return %10 : tensor<256x1024xf32>
  }
}
