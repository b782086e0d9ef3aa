// Neighbouring dimensions that a reduction keeps are one run of columns, in vectors.
// RUN: hlo-opt --split-input-file --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @reduce_0(%in0
// 3 x 20 columns: 2 vectors of 16 lanes together, one alone, and 12 lanes under a mask.
// CHECK-COUNT-2: vector.load %in0{{.*}} vector<16xf32>
// CHECK: scf.yield {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK: vector.load %in0{{.*}} vector<16xf32>
// CHECK: vector.maskedload %in0
// CHECK-NOT: memref.load
// CHECK: func.func @reduce_0__packed
func.func @main(%x: tensor<40x3x20xf32>) -> tensor<3x20xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<40x3x20xf32>, tensor<f32>) -> tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}

// -----
// A launch that stores what it folds has its loops over all that is kept.
// CHECK-LABEL: func.func @multiply_reduce_and_1_more_0__member0(%in0
// CHECK: vector.load %in0{{.*}} vector<16xf32>
// CHECK-NOT: memref.load
// CHECK: func.func @multiply_reduce_and_1_more_0__member1
func.func @main(%x: tensor<8x128x4x64xf32>) -> (tensor<8x128x4x64xf32>, tensor<4x64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<8x128x4x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0, 1] : (tensor<8x128x4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  return %0, %1 : tensor<8x128x4x64xf32>, tensor<4x64xf32>
}
