// An order in which fewer bytes are live: the large product is made after the other is used up.
// RUN: hlo-opt --schedule %s | FileCheck %s
// RUN: hlo-opt --explain-memory %s | FileCheck %s --check-prefix=AFTER
// RUN: hlo-opt --explain-memory --disable-pass=schedule %s | FileCheck %s --check-prefix=BEFORE

// 256 x 512 x 4 = 524288 bytes each: both live at once are 1 MiB, one after the other 512 KiB.
// CHECK: %[[A:.*]] = hlo.dot_general %arg0
// CHECK-NEXT: %[[AA:.*]] = hlo.dot_general %[[A]]
// CHECK-NEXT: %[[B:.*]] = hlo.dot_general %arg1
// CHECK-NEXT: %[[BB:.*]] = hlo.dot_general %[[B]]
// CHECK-NEXT: return %[[AA]], %[[BB]]

// AFTER: arena bytes: 524288
// AFTER: schedule:
// AFTER-NEXT: schedule.mlir:{{[0-9]+}}: 4 ops in another order ({{.*}}), 1 MiB to 512 KiB live
// BEFORE: arena bytes: 1048576
// BEFORE: schedule: as it was

func.func @main(%x: tensor<256x64xf32>, %y: tensor<256x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x16xf32>) -> (tensor<256x16xf32>, tensor<256x16xf32>) {
  %a = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %b = hlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %aa = hlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x16xf32>) -> tensor<256x16xf32>
  %bb = hlo.dot_general %b, %v, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x16xf32>) -> tensor<256x16xf32>
  return %aa, %bb : tensor<256x16xf32>, tensor<256x16xf32>
}

