// A row with folds in it is read once: a warp has it in registers, folds go through shuffles.
// RUN: hlo-opt --target=nvptx:sm_80 --emit=ptx %s | FileCheck %s

// 256 elements / 32 threads = 8 a thread: 2 vectors. The square of the row is computed once.
// CHECK: .reqntid 128, 1, 1
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK-COUNT-8: div.rn.f32
// CHECK-COUNT-2: st.global.v4.b32

func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %square = "hlo.multiply"(%x, %x) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %sum = "hlo.reduce"(%square, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "hlo.return"(%r) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %wide = "hlo.broadcast_in_dim"(%sum) {broadcast_dimensions = array<i64: 0>} : (tensor<64xf32>) -> tensor<64x256xf32>
  %0 = "hlo.divide"(%square, %wide) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
