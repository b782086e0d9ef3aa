// Attention is one kernel: query times key, scale, causal mask, softmax, times value. The scores,
// 4 heads x 256 x 256 elements, are nowhere in the program. Scratch is on the stack of the thread: lines
// of 32 rows for 256 keys, 64 steps of the depth, 64 columns of the values and 1 for the sums, and what
// skipped values add to 64 columns: (256 + 64 + 64 + 1) * 32 + 64. So are the packed values, 5 tiles of 13
// columns x 256 keys, and the packed keys, 19 tiles of 14 x 64 steps. Each of 8 work units takes half a head.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s --check-prefix=EXPLAIN
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s --check-prefix=FUSED
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// EXPLAIN: dot_general {{.*}} -> multiply {{.*}}: fused because both are in one attention: the scores stay in scratch
// EXPLAIN-NOT: not fused because
// EXPLAIN: kernels: 1{{$}}
// EXPLAIN: [attention]
// EXPLAIN: traffic fused: 1048576 bytes
// EXPLAIN: fused above floor: 0.00%

// FUSED: "hlo.fusion"(%arg0, %arg1, %arg2) <{kind = "attention", name = "attention_fusion"}>
// FUSED-NOT: "hlo.fusion"

// HOST: attributes {hlo.grain = 1 : i64, hlo.units = 8 : i64}
// HOST: func.func @main
// HOST-NEXT: call @attention_fusion_0
// HOST-NEXT: return
// HOST: memref.alloca() {alignment = 64} : memref<16640xf32>
// HOST: memref.alloca() {alignment = 64} : memref<17024xf32>
// HOST: memref.alloca() {alignment = 64} : memref<12384xf32>

module @attention {
  func.func public @main(%q: tensor<1x256x4x64xf32>, %k: tensor<1x256x4x64xf32>, %v: tensor<1x256x4x64xf32>) -> (tensor<1x256x4x64xf32>) {
    %0 = "hlo.dot_general"(%q, %k) {dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>} : (tensor<1x256x4x64xf32>, tensor<1x256x4x64xf32>) -> tensor<1x4x256x256xf32>
    %scale = hlo.constant dense<1.250000e-01> : tensor<1x4x256x256xf32>
    %1 = hlo.multiply %0, %scale : tensor<1x4x256x256xf32>
    %row = hlo.iota dim = 0 : tensor<256x256xi32>
    %key = hlo.iota dim = 1 : tensor<256x256xi32>
    %seen = hlo.compare GE, %row, %key,  SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %mask = hlo.broadcast_in_dim %seen, dims = [2, 3] : (tensor<256x256xi1>) -> tensor<1x4x256x256xi1>
    %fill = hlo.constant dense<-2.38197633E+38> : tensor<1x4x256x256xf32>
    %2 = hlo.select %mask, %1, %fill : tensor<1x4x256x256xi1>, tensor<1x4x256x256xf32>
    %low = hlo.constant dense<0xFF800000> : tensor<f32>
    %3 = hlo.reduce(%2 init: %low) applies hlo.maximum across dimensions = [3] : (tensor<1x4x256x256xf32>, tensor<f32>) -> tensor<1x4x256xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<1x4x256xf32>) -> tensor<1x4x256x256xf32>
    %5 = hlo.subtract %2, %4 : tensor<1x4x256x256xf32>
    %6 = hlo.exponential %5 : tensor<1x4x256x256xf32>
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [3] : (tensor<1x4x256x256xf32>, tensor<f32>) -> tensor<1x4x256xf32>
    %8 = hlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x4x256xf32>) -> tensor<1x4x256x256xf32>
    %9 = hlo.divide %6, %8 : tensor<1x4x256x256xf32>
    %10 = "hlo.dot_general"(%v, %9) {dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>} : (tensor<1x256x4x64xf32>, tensor<1x4x256x256xf32>) -> tensor<1x4x64x256xf32>
    %11 = "hlo.transpose"(%10) {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x64x256xf32>) -> tensor<1x256x4x64xf32>
    return %11 : tensor<1x256x4x64xf32>
  }
}
