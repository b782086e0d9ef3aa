// Products of bf16 go to tensor cores; what follows is applied before the result is stored.
// RUN: hlo-opt --target=nvptx:sm_80 --emit=ptx %s | FileCheck %s

// A block has 64 x 64 elements, each of its 4 warps 32 x 32: 2 x 4 fragments of 16 x 8, and
// 32 of the depth are two steps of 16: 16 products.
// CHECK: .reqntid 128, 1, 1
// CHECK: bar.sync 0;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: mma.sync
// CHECK: bar.sync 0;
// CHECK: abs.f32
// CHECK: st.global

func.func @main(%a: tensor<64x96xbf16>, %b: tensor<96x64xbf16>) -> tensor<64x64xf32> {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<64x96xbf16>, tensor<96x64xbf16>) -> tensor<64x64xf32>
  %1 = "hlo.abs"(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
