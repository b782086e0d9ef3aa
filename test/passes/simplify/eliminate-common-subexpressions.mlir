// Equal ops are one; ops with effects are not.
// RUN: hlo-opt --eliminate-common-subexpressions %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[N:.*]] = hlo.negate %arg0
// CHECK-NOT: hlo.negate
// CHECK: hlo.add %[[N]], %[[N]]
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = hlo.negate %x : tensor<f32>
  %1 = hlo.negate %x : tensor<f32>
  %2 = hlo.add %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}
