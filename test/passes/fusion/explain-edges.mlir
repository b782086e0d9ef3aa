// Every edge between a producer and a reader is listed, with both source lines and a reason.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: edges: 5, fused: 3, not fused: 2
// CHECK-NEXT: exponential (explain-edges.mlir:[[#@LINE+7]]) -> dot_general (explain-edges.mlir:[[#@LINE+8]]): fused because computed 1 times as it is packed it takes {{.*}} us, less than to store it first
// CHECK-NEXT: dot_general (explain-edges.mlir:[[#@LINE+7]]) -> negate (explain-edges.mlir:[[#@LINE+8]]): fused because what follows is applied to its register tiles
// CHECK-NEXT: negate (explain-edges.mlir:[[#@LINE+7]]) -> sort (explain-edges.mlir:[[#@LINE+8]]): not fused because its reader sort is not a generated loop
// CHECK-NEXT: sort (explain-edges.mlir:[[#@LINE+7]]) -> tanh (explain-edges.mlir:[[#@LINE+12]]): not fused because sort is not a generated loop
// CHECK-NEXT: tanh (explain-edges.mlir:[[#@LINE+11]]) -> abs (explain-edges.mlir:[[#@LINE+12]]): fused because all its readers are in this kernel

func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = hlo.exponential %x : tensor<32x32xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = hlo.negate %1 : tensor<32x32xf32>
  %3 = "hlo.sort"(%2) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %4 = hlo.tanh %3 : tensor<32x32xf32>
  %5 = hlo.abs %4 : tensor<32x32xf32>
  return %5 : tensor<32x32xf32>
}
