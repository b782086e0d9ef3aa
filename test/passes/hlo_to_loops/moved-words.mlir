// What only moves complex numbers moves words of 64 bits, eight in a vector; what computes of them takes two
// registers each.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// CHECK: func.func private @[[NAME:.*]](memref<2048xf32>, memref<2048xf32>)
// CHECK: func.func @[[NAME]](%in0: memref<1024xi64>, %out0: memref<1024xi64>
// CHECK: vector.load %in0{{.*}} vector<8xi64>
// CHECK: vector.shuffle
// CHECK-NOT: deinterleave
func.func @main(%x: tensor<32x32xcomplex<f32>>) -> tensor<32x32xcomplex<f32>> {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<32x32xcomplex<f32>>) -> tensor<32x32xcomplex<f32>>
  return %0 : tensor<32x32xcomplex<f32>>
}

// -----
// CHECK: func.func @{{.*}}(%in0: memref<2048xf32>, %out0: memref<2048xf32>
// CHECK: vector.deinterleave
func.func @main(%x: tensor<1024xcomplex<f32>>) -> tensor<1024xcomplex<f32>> {
  %0 = hlo.reverse %x, dims = [0] : tensor<1024xcomplex<f32>>
  %1 = hlo.add %0, %x : tensor<1024xcomplex<f32>>
  return %1 : tensor<1024xcomplex<f32>>
}

// -----
// CHECK: func.func @{{.*}}(%in0: memref<1000xi16>, %out0: memref<1024xi16>
// CHECK-NOT: arith.bitcast
// CHECK: vector.store {{.*}} vector<16xi16>
func.func @main(%x: tensor<1000xbf16>) -> tensor<1024xbf16> {
  %zero = hlo.constant dense<0.0> : tensor<bf16>
  %0 = hlo.pad %x, %zero, low = [8], high = [16], interior = [0] : (tensor<1000xbf16>, tensor<bf16>) -> tensor<1024xbf16>
  return %0 : tensor<1024xbf16>
}

// -----
// What is padded with is a word of the same bits: 1.0 is 0x3c00.
// CHECK: func.func @{{.*}}(%in0: memref<1000xi16>, %out0: memref<1024xi16>
// CHECK: arith.constant {{.*}}15360
func.func @main(%x: tensor<1000xf16>) -> tensor<1024xf16> {
  %one = hlo.constant dense<1.0> : tensor<f16>
  %0 = hlo.pad %x, %one, low = [8], high = [16], interior = [0] : (tensor<1000xf16>, tensor<f16>) -> tensor<1024xf16>
  return %0 : tensor<1024xf16>
}
