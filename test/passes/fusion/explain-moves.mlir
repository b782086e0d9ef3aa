// A kernel that computes nothing is counted apart: 16 x 32 f32 read and written, 2 * 2048 = 4096 bytes.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: traffic fused: 12288 bytes (12 KiB), of copies: 0
// CHECK-NEXT: traffic of kernels that only move data: 4096 bytes (4 KiB)
func.func @main(%x: tensor<16x32xf32>, %y: tensor<16x64xf32>) -> (tensor<32x16xf32>, tensor<16x64xf32>) {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %1 = hlo.exponential %y : tensor<16x64xf32>
  return %0, %1 : tensor<32x16xf32>, tensor<16x64xf32>
}
