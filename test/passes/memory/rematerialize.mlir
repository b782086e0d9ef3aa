// A value that is read early and late is made again, not kept.
// RUN: hlo-opt --rematerialize='live-bytes=800000' %s | FileCheck %s
// RUN: hlo-opt --explain-memory %s | FileCheck %s --check-prefix=FREE
// RUN: hlo-opt --explain-memory --max-bytes=2100000 %s | FileCheck %s --check-prefix=BUDGET
// RUN: %not hlo-opt --explain-memory --max-bytes=1000000 %s 2>&1 | FileCheck %s --check-prefix=LESS

// CHECK: %[[E:.*]] = hlo.exponential %arg0
// CHECK-NEXT: %[[A:.*]] = hlo.dot_general %[[E]], %arg1
// CHECK-NEXT: %[[B:.*]] = hlo.dot_general %[[A]], %arg2
// CHECK-NEXT: %[[C:.*]] = hlo.dot_general %[[B]], %arg3
// CHECK-NEXT: %[[AGAIN:.*]] = hlo.exponential %arg0
// CHECK-NEXT: hlo.dot_general %[[C]], %[[AGAIN]]

// While %c is made, %e, %b and %c are live: 262144 + 524288 + 262144; without %e 786432. Arguments and
// result take 262144 + 65536 + 131072 + 524288 + 262144 = 1245184 besides.
// FREE: arena bytes: 1048576
// FREE: peak bytes: 2293760
// BUDGET: arena bytes: 786432
// BUDGET: peak bytes: 2031616
// LESS: hlo-opt: error: option max_bytes: expected a budget of at least 2031616 bytes (1.94 MiB), found 1000000
// LESS-NEXT: dot_general: 524288 bytes, rematerialize.mlir:[[#@LINE+6]]
// LESS-NEXT: dot_general: 262144 bytes, rematerialize.mlir:[[#@LINE+6]]

func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x64xf32>, %v: tensor<64x512xf32>, %u: tensor<512x256xf32>) -> tensor<256x256xf32> {
  %e = hlo.exponential %x : tensor<256x256xf32>
  %a = hlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %b = hlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %c = hlo.dot_general %b, %u, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x256xf32>) -> tensor<256x256xf32>
  %s = hlo.dot_general %c, %e, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %s : tensor<256x256xf32>
}
