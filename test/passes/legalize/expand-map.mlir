// The computation's ops work on whole tensors.
// RUN: hlo-opt --expand-map %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.add %arg0, %arg1 : tensor<4xf32>
// CHECK-NOT: hlo.map
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.map"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = hlo.add %x, %y : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
