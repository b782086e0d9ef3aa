// Neighbouring lanes of a reduction along rows are far apart for one across them: two kernels, each in
// vectors, though both have as many results and read the same.
// RUN: hlo-opt --fuse %s | FileCheck %s

// CHECK-LABEL: func.func @both
// CHECK: %[[A:.*]] = hlo.reduce({{.*}} across dimensions = [0]
// CHECK: "hlo.fusion"(%{{.*}}, %[[A]])
// CHECK: hlo.reduce({{.*}} across dimensions = [1]
func.func @both(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.sine %x : tensor<64x64xf32>
  %1 = hlo.multiply %0, %x : tensor<64x64xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = hlo.negate %2 : tensor<64xf32>
  %5 = hlo.add %4, %3 : tensor<64xf32>
  return %5 : tensor<64xf32>
}
