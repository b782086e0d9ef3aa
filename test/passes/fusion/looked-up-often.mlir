// What is looked up often is stored where that moves fewer bytes than to compute it at each look-up.
// RUN: hlo-opt --fuse %s | FileCheck %s
// RUN: hlo-opt --explain-fusion %s | FileCheck %s --check-prefix=WHY

// The dot stores the scaled rows in place of its own result: 9 x 8 once, not 50 x 8 products.
// CHECK-LABEL: func.func @main
// CHECK: "hlo.fusion"({{.*}}) <{kind = "loop", name = "dot_general_multiply_fusion"}>
// CHECK: hlo.gather
// WHY: multiply {{.*}} -> gather {{.*}}: not fused because each element is looked up 5.56 times: it is stored, which moves 1.89e+03 bytes, not 2.09e+03
func.func @main(%x: tensor<9x16xf32>, %w: tensor<16x8xf32>, %s: tensor<9xf32>, %from: tensor<50x1xi32>) -> tensor<50x8xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<9x16xf32>, tensor<16x8xf32>) -> tensor<9x8xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x8xf32>
  %2 = hlo.multiply %0, %1 : tensor<9x8xf32>
  %3 = "hlo.gather"(%2, %from) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<9x8xf32>, tensor<50x1xi32>) -> tensor<50x8xf32>
  return %3 : tensor<50x8xf32>
}
