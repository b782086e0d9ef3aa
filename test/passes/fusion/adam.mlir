// The Adam update reads 4 arrays and writes 3, in one kernel with three results: 7 x 1048576 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-COUNT-2: add {{.*}} -> divide {{.*}}: fused because its result leaves the block, and the kernel of a reader stores it
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}4 MiB {{ *}}3 MiB {{.*}}[loop]
// CHECK: traffic fused: 7340032 bytes
// CHECK: traffic floor: 7340032 bytes
// CHECK: fused above floor: 0.00%

module @adam {
  func.func public @main(%arg0: tensor<256x1024xf32>, %arg1: tensor<256x1024xf32>, %arg2: tensor<256x1024xf32>, %arg3: tensor<256x1024xf32>) -> (tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>) {
    %cst = hlo.constant dense<0.899999976> : tensor<f32>
    %0 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1 = hlo.multiply %0, %arg1 : tensor<256x1024xf32>
    %cst_0 = hlo.constant dense<1.000000e-01> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %3 = hlo.multiply %2, %arg3 : tensor<256x1024xf32>
    %4 = hlo.add %1, %3 : tensor<256x1024xf32>
    %cst_1 = hlo.constant dense<9.990000e-01> : tensor<f32>
    %5 = hlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %6 = hlo.multiply %5, %arg2 : tensor<256x1024xf32>
    %cst_2 = hlo.constant dense<1.000000e-03> : tensor<f32>
    %7 = hlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %8 = hlo.multiply %7, %arg3 : tensor<256x1024xf32>
    %9 = hlo.multiply %8, %arg3 : tensor<256x1024xf32>
    %10 = hlo.add %6, %9 : tensor<256x1024xf32>
    %cst_3 = hlo.constant dense<0.65132153> : tensor<f32>
    %11 = hlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %12 = hlo.divide %4, %11 : tensor<256x1024xf32>
    %cst_4 = hlo.constant dense<1.000000e-03> : tensor<f32>
    %13 = hlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %14 = hlo.multiply %13, %12 : tensor<256x1024xf32>
    %cst_5 = hlo.constant dense<0.00995511934> : tensor<f32>
    %15 = hlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %16 = hlo.divide %10, %15 : tensor<256x1024xf32>
    %17 = hlo.sqrt %16 : tensor<256x1024xf32>
    %cst_6 = hlo.constant dense<9.99999993E-9> : tensor<f32>
    %18 = hlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %19 = hlo.add %17, %18 : tensor<256x1024xf32>
    %20 = hlo.divide %14, %19 : tensor<256x1024xf32>
    %21 = hlo.subtract %arg0, %20 : tensor<256x1024xf32>
    return %21, %4, %10 : tensor<256x1024xf32>, tensor<256x1024xf32>, tensor<256x1024xf32>
  }
}
