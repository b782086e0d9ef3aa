// Lanes take turns with gaps: the elements side by side are computed once, from where the first of
// them lies, and moved to their lanes; only as many are loaded as there are.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @multiply_pad_fusion_0(
// CHECK: %[[FIRST:.*]] = arith.divui
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[FIRST]] : index
// CHECK: arith.minsi %[[LEFT]]
// CHECK: %[[MASK:.*]] = arith.cmpi slt
// CHECK: %[[X:.*]] = vector.maskedload %in0[%[[FIRST]]], %[[MASK]]
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : vector<16xf32>
// CHECK: vector.shuffle %[[Y]], %[[Y]] [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
// CHECK: vector.shuffle %[[Y]], %[[Y]] [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]
// CHECK: arith.select
// CHECK: vector.store
func.func @main(%x: tensor<100xf32>, %zero: tensor<f32>) -> tensor<200xf32> {
  %0 = hlo.multiply %x, %x : tensor<100xf32>
  %1 = hlo.pad %0, %zero, low = [0], high = [1], interior = [1] : (tensor<100xf32>, tensor<f32>) -> tensor<200xf32>
  return %1 : tensor<200xf32>
}
