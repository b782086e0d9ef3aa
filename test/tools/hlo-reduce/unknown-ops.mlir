// An op that the reference evaluator does not know stays, and so does what it reads; the others go.
// RUN: hlo-reduce %s --seed=0 -o %t.mlir | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s < %t.mlir
// SAID: 3 operations, 2 arguments reduced to 1, 1:
// CHECK: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: hlo.custom_call @unknown(%arg0)
// CHECK-NEXT: return
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = hlo.add %x, %y : tensor<4xf32>
  %b = hlo.custom_call @unknown(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = hlo.sine %b : tensor<4xf32>
  return %c : tensor<4xf32>
}
