// `fast` takes floats for finite: on a NaN that is the pass to be found.
// RUN: %not hlo-bisect %s --arg='f32[2]=nan,1' --pass-pipeline='eliminate-common-subexpressions,simplify-ops{fast=true},fuse' --before=%t.before --after=%t.after | FileCheck %s
// RUN: FileCheck %s --check-prefix=BEFORE < %t.before
// RUN: FileCheck %s --check-prefix=AFTER < %t.after
// RUN: hlo-bisect %s --arg='f32[2]=nan,1' | FileCheck %s --check-prefix=SAME
// RUN: %not hlo-bisect %s --arg='f32[2]=nan,1' --pass-pipeline=simplify-opps 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: pass 1 (simplify-ops) changes the results
// CHECK-NEXT: result 0: 1 of 2 elements differ
// BEFORE: hlo.multiply
// AFTER-NOT: hlo.multiply
// SAME: the results are the same after each of {{[0-9]+}} passes
// UNKNOWN: hlo-bisect: {{.*}}simplify-opps
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = hlo.constant dense<0.0> : tensor<2xf32>
  %a = hlo.multiply %x, %zero : tensor<2xf32>
  %b = hlo.multiply %x, %zero : tensor<2xf32>
  %c = hlo.add %a, %b : tensor<2xf32>
  return %c : tensor<2xf32>
}
