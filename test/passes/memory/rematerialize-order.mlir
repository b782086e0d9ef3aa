// An order of the ops that meets the budget by itself: nothing runs again.
// RUN: hlo-opt --rematerialize='live-bytes=400000' %s | FileCheck %s
// RUN: hlo-opt --rematerialize='live-bytes=600000' %s | FileCheck %s --check-prefix=KEPT

// As written %a, %b and %c are live at once: 262144 + 262144 + 65536 bytes; in this order %b, %c and %d:
// 262144 + 65536 + 65536.
// CHECK: %[[A:.*]] = hlo.exponential %arg0
// CHECK-NEXT: %[[C:.*]] = hlo.dot_general %[[A]]
// CHECK-NEXT: %[[B:.*]] = hlo.exponential %arg1
// CHECK-NEXT: %[[D:.*]] = hlo.dot_general %[[B]]
// CHECK-NEXT: hlo.add %[[C]], %[[D]]

// KEPT: hlo.exponential %arg0
// KEPT-NEXT: hlo.exponential %arg1

func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>, %w: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %a = hlo.exponential %x : tensor<256x256xf32>
  %b = hlo.exponential %y : tensor<256x256xf32>
  %c = hlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %d = hlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %s = hlo.add %c, %d : tensor<256x64xf32>
  return %s : tensor<256x64xf32>
}
