// A layer normalisation that a dot computes while it packs its operand: mean and reciprocal deviation keep the unit dimension of
// the rows and are one kernel, which reads the rows once. 512 x 768 floats are 1572864 bytes, 512 statistics 2048:
// 1572864 + 2 x 2048 there, and 1572864 + 2 x 2048 + 4 x 768 x 768 + 2 x 4 x 768 + 1572864 in the dot.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: divide {{.*}} -> broadcast_in_dim {{.*}}: fused because {{.*}}, and the kernel of a reader stores it on the way
// CHECK: kernels: 2{{$}}
// CHECK: {{\[row\]}}
// CHECK: {{\[loop\]}}
// CHECK: traffic fused: 7092224 bytes

func.func @main(%x: tensor<512x768xf32>, %scale: tensor<768xf32>, %offset: tensor<768xf32>, %w: tensor<768x768xf32>)
    -> (tensor<512x768xf32>, tensor<512x1xf32>, tensor<512x1xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %count = hlo.constant dense<768.0> : tensor<512x1xf32>
  %epsilon = hlo.constant dense<1.0e-05> : tensor<512x1xf32>
  %total = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<512x768xf32>, tensor<f32>) -> tensor<512xf32>
  %0 = hlo.broadcast_in_dim %total, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
  %mean = hlo.divide %0, %count : tensor<512x1xf32>
  %1 = hlo.broadcast_in_dim %mean, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x768xf32>
  %2 = hlo.subtract %x, %1 : tensor<512x768xf32>
  %3 = hlo.multiply %2, %2 : tensor<512x768xf32>
  %squares = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<512x768xf32>, tensor<f32>) -> tensor<512xf32>
  %4 = hlo.broadcast_in_dim %squares, dims = [0] : (tensor<512xf32>) -> tensor<512x1xf32>
  %5 = hlo.divide %4, %count : tensor<512x1xf32>
  %6 = hlo.add %5, %epsilon : tensor<512x1xf32>
  %deviation = hlo.rsqrt %6 : tensor<512x1xf32>
  %7 = hlo.broadcast_in_dim %deviation, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x768xf32>
  %8 = hlo.multiply %2, %7 : tensor<512x768xf32>
  %9 = hlo.broadcast_in_dim %scale, dims = [1] : (tensor<768xf32>) -> tensor<512x768xf32>
  %10 = hlo.multiply %8, %9 : tensor<512x768xf32>
  %11 = hlo.broadcast_in_dim %offset, dims = [1] : (tensor<768xf32>) -> tensor<512x768xf32>
  %12 = hlo.add %10, %11 : tensor<512x768xf32>
  %13 = hlo.dot_general %12, %w, contracting_dims = [1] x [0] : (tensor<512x768xf32>, tensor<768x768xf32>) -> tensor<512x768xf32>
  return %13, %mean, %deviation : tensor<512x768xf32>, tensor<512x1xf32>, tensor<512x1xf32>
}
