// What is made of arguments alone, and is only returned, is made last, the largest at the very end:
// until then its memory holds other buffers.
// RUN: hlo-opt --schedule %s | FileCheck %s
// RUN: hlo-opt --explain-memory %s | FileCheck %s --check-prefix=PLAN

// CHECK: %[[A:.*]] = hlo.dot_general %arg0, %arg1
// CHECK-NEXT: %[[R:.*]] = hlo.dot_general %[[A]], %arg2
// CHECK-NEXT: %[[SMALL:.*]] = hlo.dot_general %arg2, %arg1
// CHECK-NEXT: %[[LARGE:.*]] = hlo.dot_general %arg2, %arg3
// CHECK-NEXT: return %[[LARGE]], %[[SMALL]], %[[R]]

// 256 x 512 x 4 bytes of %a lie in %small, of 512 x 512 x 4.
// PLAN: arena bytes: 0
// PLAN: 524288 bytes at 0 of result 1  dot_general
func.func @main(%x: tensor<256x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x64xf32>, %u: tensor<64x1024xf32>)
    -> (tensor<512x1024xf32>, tensor<512x512xf32>, tensor<256x64xf32>) {
  %large = hlo.dot_general %v, %u, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x1024xf32>) -> tensor<512x1024xf32>
  %small = hlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %a = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %r = hlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x64xf32>) -> tensor<256x64xf32>
  return %large, %small, %r : tensor<512x1024xf32>, tensor<512x512xf32>, tensor<256x64xf32>
}
