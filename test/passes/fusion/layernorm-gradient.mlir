// The gradient of a layer normalisation: one kernel of rows makes the statistics, the normalised rows and the gradient of the
// input; one reads rows for the sums over them, of scale and offset.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: kernels: 2{{$}}
// CHECK: {{\[row\]}}
// CHECK: {{\[steps\]}}
// CHECK: traffic fused: 27{{[0-9]+}} bytes

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512x256xf32>, %arg1: tensor<256xf32>, %arg2: tensor<256xf32>) -> (tensor<512x256xf32> {jax.result_info = "result[0]"}, tensor<256xf32> {jax.result_info = "result[1]"}, tensor<256xf32> {jax.result_info = "result[2]"}) {
    %cst = hlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = hlo.reduce(%arg0 init: %cst) applies hlo.add across dimensions = [1] : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
    %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
    %cst_0 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %2 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %3 = hlo.divide %1, %2 : tensor<512x1xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x256xf32>
    %5 = hlo.subtract %arg0, %4 : tensor<512x256xf32>
    %6 = hlo.multiply %5, %5 : tensor<512x256xf32>
    %cst_1 = hlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = hlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %8 = hlo.multiply %7, %5 : tensor<512x256xf32>
    %cst_2 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = hlo.reduce(%6 init: %cst_2) applies hlo.add across dimensions = [1] : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
    %10 = hlo.broadcast_in_dim %9, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
    %cst_3 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %11 = hlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %12 = hlo.divide %10, %11 : tensor<512x1xf32>
    %13 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x256xf32>
    %14 = hlo.subtract %arg0, %13 : tensor<512x256xf32>
    %cst_4 = hlo.constant dense<9.99999974E-6> : tensor<f32>
    %15 = hlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %16 = hlo.add %12, %15 : tensor<512x1xf32>
    %17 = hlo.rsqrt %16 : tensor<512x1xf32>
    %18 = hlo.divide %17, %16 : tensor<512x1xf32>
    %cst_5 = hlo.constant dense<-5.000000e-01> : tensor<f32>
    %19 = hlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %20 = hlo.multiply %19, %18 : tensor<512x1xf32>
    %21 = hlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x256xf32>
    %22 = hlo.multiply %14, %21 : tensor<512x256xf32>
    %23 = hlo.broadcast_in_dim %arg1, dims = [1] : (tensor<256xf32>) -> tensor<1x256xf32>
    %24 = hlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x256xf32>) -> tensor<512x256xf32>
    %25 = hlo.multiply %22, %24 : tensor<512x256xf32>
    %26 = hlo.broadcast_in_dim %arg2, dims = [1] : (tensor<256xf32>) -> tensor<1x256xf32>
    %27 = hlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<1x256xf32>) -> tensor<512x256xf32>
    %28 = hlo.add %25, %27 : tensor<512x256xf32>
    %29 = hlo.multiply %28, %28 : tensor<512x256xf32>
    %cst_6 = hlo.constant dense<3.000000e+00> : tensor<f32>
    %30 = hlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %31 = hlo.multiply %30, %29 : tensor<512x256xf32>
    %cst_7 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = hlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<512x256xf32>
    %33 = hlo.multiply %32, %31 : tensor<512x256xf32>
    %cst_8 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = hlo.reduce(%33 init: %cst_8) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
    %35 = hlo.reshape %34 : (tensor<256xf32>) -> tensor<1x256xf32>
    %cst_9 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = hlo.reduce(%35 init: %cst_9) applies hlo.add across dimensions = [0] : (tensor<1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %37 = hlo.multiply %22, %33 : tensor<512x256xf32>
    %cst_10 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = hlo.reduce(%37 init: %cst_10) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
    %39 = hlo.reshape %38 : (tensor<256xf32>) -> tensor<1x256xf32>
    %40 = hlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x256xf32>) -> tensor<512x256xf32>
    %41 = hlo.multiply %33, %40 : tensor<512x256xf32>
    %cst_11 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = hlo.reduce(%39 init: %cst_11) applies hlo.add across dimensions = [0] : (tensor<1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %43 = hlo.multiply %14, %41 : tensor<512x256xf32>
    %cst_12 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = hlo.reduce(%43 init: %cst_12) applies hlo.add across dimensions = [1] : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
    %45 = hlo.reshape %44 : (tensor<512xf32>) -> tensor<512x1xf32>
    %46 = hlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x256xf32>
    %47 = hlo.multiply %41, %46 : tensor<512x256xf32>
    %48 = hlo.multiply %45, %20 : tensor<512x1xf32>
    %49 = hlo.negate %47 : tensor<512x256xf32>
    %cst_13 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = hlo.reduce(%49 init: %cst_13) applies hlo.add across dimensions = [1] : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
    %51 = hlo.reshape %50 : (tensor<512xf32>) -> tensor<512x1xf32>
    %cst_14 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %52 = hlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %53 = hlo.divide %48, %52 : tensor<512x1xf32>
    %cst_15 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = hlo.reduce(%53 init: %cst_15) applies hlo.add across dimensions = [1] : (tensor<512x1xf32>, tensor<f32>) -> tensor<512xf32>
    %55 = hlo.broadcast_in_dim %54, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
    %56 = hlo.multiply %55, %8 : tensor<512x256xf32>
    %57 = hlo.negate %56 : tensor<512x256xf32>
    %cst_16 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = hlo.reduce(%57 init: %cst_16) applies hlo.add across dimensions = [1] : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
    %59 = hlo.reshape %58 : (tensor<512xf32>) -> tensor<512x1xf32>
    %60 = hlo.add %47, %56 : tensor<512x256xf32>
    %61 = hlo.add %51, %59 : tensor<512x1xf32>
    %cst_17 = hlo.constant dense<2.560000e+02> : tensor<f32>
    %62 = hlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<512x1xf32>
    %63 = hlo.divide %61, %62 : tensor<512x1xf32>
    %cst_18 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = hlo.reduce(%63 init: %cst_18) applies hlo.add across dimensions = [1] : (tensor<512x1xf32>, tensor<f32>) -> tensor<512xf32>
    %65 = hlo.broadcast_in_dim %64, dims = [0] : (tensor<512xf32>) -> tensor<512x256xf32>
    %66 = hlo.add %60, %65 : tensor<512x256xf32>
    return %66, %42, %36 : tensor<512x256xf32>, tensor<256xf32>, tensor<256xf32>
  }
}
