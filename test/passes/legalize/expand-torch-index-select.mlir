// Slices chosen by index are a gather.
// RUN: hlo-opt --expand-torch-index-select %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: "hlo.gather"(%arg0, %arg1)
// CHECK-SAME: collapsed_slice_dims = [0]
// CHECK-SAME: slice_sizes = array<i64: 1, 3>
func.func @main(%x: tensor<5x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = "hlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
