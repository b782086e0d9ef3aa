// A computation carried along a dimension is a loop over its indices.
// RUN: hlo-opt --expand-scan %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.while
// CHECK: hlo.dynamic_slice
// CHECK: hlo.add
// CHECK: hlo.dynamic_update_slice
// CHECK-NOT: hlo.scan
func.func @main(%x: tensor<5xf32>, %c: tensor<f32>) -> (tensor<5xf32>, tensor<f32>) {
  %0:2 = "hlo.scan"(%x, %c) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    %1 = hlo.add %a, %s : tensor<f32>
    hlo.return %1, %1 : tensor<f32>, tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<5xf32>, tensor<f32>
}
