// Labels' logits are looked up in a kernel of their own ahead of the softmax, which may then be
// computed in the logits' memory; a look-up that nothing large waits for stays where it is.
// RUN: hlo-opt --gather-early --split-input-file %s | FileCheck %s
// RUN: hlo-opt --gather-early --split-input-file %s | hlo-opt --gather-early --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK: %[[LOGITS:.*]] = hlo.dot_general
// CHECK: %[[AT:.*]] = "hlo.sort"
// CHECK: %[[PICKED:.*]] = "hlo.fusion"(%[[LOGITS]], %[[AT]]) <{kind = "loop", name = "gather_fusion"}>
// CHECK: hlo.clamp
// CHECK: hlo.reshape
// CHECK: hlo.gather
// CHECK: -> tensor<64x1xf32>
// CHECK: %[[SOFT:.*]]:2 = "hlo.fusion"(%[[LOGITS]])
// CHECK: "hlo.fusion"(%[[SOFT]]#1, %[[PICKED]])
// CHECK-NOT: hlo.gather
// CHECK: return
func.func @loss(%x: tensor<64x32xf32>, %w: tensor<32x256xf32>, %labels: tensor<64x1xi32>) -> (tensor<64x256xf32>, tensor<64x1xf32>) {
  %logits = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x256xf32>) -> tensor<64x256xf32>
  %at = "hlo.sort"(%labels) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) : (tensor<64x1xi32>) -> tensor<64x1xi32>
  %soft:2 = "hlo.fusion"(%logits) <{kind = "row", name = "softmax"}> ({
  ^bb0(%l: tensor<64x256xf32>):
    %zero = hlo.constant dense<0.0> : tensor<f32>
    %e = hlo.exponential %l : tensor<64x256xf32>
    %s = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
    %r = hlo.reshape %s : (tensor<64xf32>) -> tensor<64x1xf32>
    hlo.return %e, %r : tensor<64x256xf32>, tensor<64x1xf32>
  }) : (tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x1xf32>)
  %loss = "hlo.fusion"(%logits, %at, %soft#1) <{kind = "loop", name = "loss"}> ({
  ^bb0(%l: tensor<64x256xf32>, %i: tensor<64x1xi32>, %s: tensor<64x1xf32>):
    %low = hlo.constant dense<0> : tensor<64x1xi32>
    %high = hlo.constant dense<255> : tensor<64x1xi32>
    %in = hlo.clamp %low, %i, %high : tensor<64x1xi32>
    %at3 = hlo.reshape %in : (tensor<64x1xi32>) -> tensor<64x1x1xi32>
    %g = "hlo.gather"(%l, %at3) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<64x256xf32>, tensor<64x1x1xi32>) -> tensor<64x1xf32>
    %log = hlo.log %s : tensor<64x1xf32>
    %d = hlo.subtract %log, %g : tensor<64x1xf32>
    hlo.return %d : tensor<64x1xf32>
  }) : (tensor<64x256xf32>, tensor<64x1xi32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  return %soft#0, %loss : tensor<64x256xf32>, tensor<64x1xf32>
}

// -----
// CHECK-LABEL: func.func @nothing_waits
// CHECK: hlo.dot_general
// CHECK-NEXT: "hlo.fusion"
// CHECK: hlo.gather
// CHECK-NOT: hlo.fusion
func.func @nothing_waits(%x: tensor<64x32xf32>, %w: tensor<32x256xf32>, %at: tensor<64x1x1xi32>) -> tensor<64x1xf32> {
  %logits = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x256xf32>) -> tensor<64x256xf32>
  %loss = "hlo.fusion"(%logits, %at) <{kind = "loop", name = "loss"}> ({
  ^bb0(%l: tensor<64x256xf32>, %i: tensor<64x1x1xi32>):
    %g = "hlo.gather"(%l, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<64x256xf32>, tensor<64x1x1xi32>) -> tensor<64x1xf32>
    %d = hlo.negate %g : tensor<64x1xf32>
    hlo.return %d : tensor<64x1xf32>
  }) : (tensor<64x256xf32>, tensor<64x1x1xi32>) -> tensor<64x1xf32>
  return %loss : tensor<64x1xf32>
}

// -----
// What elementwise ops give is looked up before they are done: 64 elements are shifted, not 16384.
// CHECK-LABEL: func.func @shifted
// CHECK: "hlo.fusion"
// CHECK: %[[L:.*]] = "hlo.gather"(%arg{{.*}})
// CHECK: %[[M:.*]] = "hlo.gather"(%{{.*}})
// CHECK: hlo.subtract %[[L]], %[[M]] : tensor<64x1xf32>
func.func @shifted(%x: tensor<64x256xf32>, %m: tensor<64xf32>, %at: tensor<64x1x1xi32>) -> tensor<64x1xf32> {
  %0 = "hlo.fusion"(%x, %m, %at) <{kind = "row", name = "shifted"}> ({
  ^bb0(%l: tensor<64x256xf32>, %r: tensor<64xf32>, %i: tensor<64x1x1xi32>):
    %b = hlo.broadcast_in_dim %r, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
    %d = hlo.subtract %l, %b : tensor<64x256xf32>
    %g = "hlo.gather"(%d, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<64x256xf32>, tensor<64x1x1xi32>) -> tensor<64x1xf32>
    hlo.return %g : tensor<64x1xf32>
  }) : (tensor<64x256xf32>, tensor<64xf32>, tensor<64x1x1xi32>) -> tensor<64x1xf32>
  return %0 : tensor<64x1xf32>
}
