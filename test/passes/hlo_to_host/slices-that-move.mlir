// Slices that are no views: columns are not contiguous, element 1 of f32 is not at a multiple of 16
// bytes, and a result of the program has memory of its own.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.subview
// CHECK: return
func.func @main(%w: tensor<4x64x48xf32>, %v: tensor<65xf32>, %x: tensor<16x32xf32>) -> (tensor<16x48xf32>, tensor<64xf32>, tensor<64xf32>, tensor<2x64x48xf32>) {
  %c = hlo.slice %w [2:4, 0:64, 0:48] : (tensor<4x64x48xf32>) -> tensor<2x64x48xf32>
  %t = hlo.slice %w [0:2, 0:32, 0:24] : (tensor<4x64x48xf32>) -> tensor<2x32x24xf32>
  %m = hlo.reshape %t : (tensor<2x32x24xf32>) -> tensor<32x48xf32>
  %0 = hlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x48xf32>) -> tensor<16x48xf32>
  %u = hlo.slice %v [1:65] : (tensor<65xf32>) -> tensor<64xf32>
  %1 = "hlo.sort"(%u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %2 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = hlo.slice %v [0:64] : (tensor<65xf32>) -> tensor<64xf32>
  return %0, %1, %3, %c : tensor<16x48xf32>, tensor<64xf32>, tensor<64xf32>, tensor<2x64x48xf32>
}
