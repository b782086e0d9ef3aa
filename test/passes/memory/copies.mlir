// Copies are made where an update would overwrite what is needed, and say why; none where the argument
// may be overwritten.
// RUN: hlo-opt --explain-memory %s | FileCheck %s
// RUN: hlo-opt --explain-memory --donate=0 --split-input-file %S/Inputs/donated-update.mlir | FileCheck %s --check-prefix=DONATED
// RUN: hlo-opt --explain-fusion %s | FileCheck %s --check-prefix=TRAFFIC

// CHECK: alias bytes: 0
// CHECK: donations: none
// CHECK-NEXT: copies: 2
// CHECK-NEXT: step 1: argument 0 to result 0, 4 KiB, because dynamic_update_slice updates an argument that is not donated
// CHECK-NEXT: step 3: argument 0 to result 1, 4 KiB, because an argument, a constant or a value from outside is passed on

// DONATED: alias bytes: 4096
// DONATED: donations:
// DONATED-NEXT: result 0 lies in argument 0
// DONATED-NEXT: copies: 0

// Each copy reads and writes 4096 bytes.
// TRAFFIC: of copies: 16384

func.func @main(%x: tensor<1024xf32>, %u: tensor<8xf32>, %i: tensor<i32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %0 = hlo.dynamic_update_slice %x, %u, %i : (tensor<1024xf32>, tensor<8xf32>, tensor<i32>) -> tensor<1024xf32>
  return %0, %x : tensor<1024xf32>, tensor<1024xf32>
}
