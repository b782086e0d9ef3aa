// A softmax over a dimension that is not the minor one is one kernel that reads memory once: 2 x 3145728 bytes. Long columns of a
// large tensor are split over all threads instead.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: reduce {{.*}} -> broadcast_in_dim {{.*}}: fused because the reduction is computed once for each row or column of the kernel
// CHECK: kernels: 1{{$}}
// CHECK: {{\[row\]}}
// CHECK: traffic fused: 6291456 bytes
// CHECK: traffic floor: 6291456 bytes

func.func @main(%x: tensor<8x128x768xf32>) -> tensor<8x128x768xf32> {
  %lowest = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %lowest) applies hlo.maximum across dimensions = [1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x768xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<8x768xf32>) -> tensor<8x128x768xf32>
  %2 = hlo.subtract %x, %1 : tensor<8x128x768xf32>
  %3 = hlo.exponential %2 : tensor<8x128x768xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x768xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0, 2] : (tensor<8x768xf32>) -> tensor<8x128x768xf32>
  %6 = hlo.divide %3, %5 : tensor<8x128x768xf32>
  return %6 : tensor<8x128x768xf32>
}
