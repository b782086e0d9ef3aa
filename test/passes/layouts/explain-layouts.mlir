// Every layout that was asked for is in the report, with what decided.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// The product of the operands in the other order saves two transposes, 2 * 2 * 64 * 32 * 4 = 32768
// bytes. With the sum in the order of its argument, its other operand and the result would be copied.
// CHECK: layouts asked for: 2, taken: 1
// CHECK-NEXT: transpose (explain-layouts.mlir:11): 64x32 as [0, 1]: taken by 2 ops because copies and transposes move 0 bytes, not 32768
// CHECK-NEXT: transpose (explain-layouts.mlir:15): 32x64 as [0, 1]: not taken because copies and transposes would move 49152 bytes, now 16384
func.func @main(%x: tensor<128x64xf32>, %y: tensor<128x32xf32>, %z: tensor<64x32xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x64xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %2 = hlo.tanh %1 : tensor<32x64xf32>
  %3 = hlo.exponential %0 : tensor<64x32xf32>
  %4 = hlo.transpose %3, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %5 = hlo.transpose %z, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %6 = hlo.add %5, %2 : tensor<32x64xf32>
  return %2, %4, %6 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}
