// Kernels that share a launch are listed with the reason, and so are those that do not, each with the one that reads it.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s
// RUN: hlo-opt --explain-fusion --report-json %s | FileCheck %s --check-prefix=JSON
// RUN: hlo-opt --view-graph=%t.svg %s && FileCheck %s --check-prefix=GRAPH --input-file=%t.svg

// CHECK: joined in one launch: 1, not joined: 1
// CHECK-NEXT: multiply_reduce_fusion (explain-launches.mlir:[[#@LINE+14]]) -> reduce_sqrt_broadcast_in_dim_fusion (explain-launches.mlir:[[#@LINE+16]]): joined because partial results of a reduction are reduced when all are there
// CHECK-NEXT: multiply_reduce_and_1_more ({{.*}}) -> sort (explain-launches.mlir:[[#@LINE+16]]): not joined because sort is a kernel that no other may share its launch with

// JSON: "launches": [
// JSON: "producer": "multiply_reduce_fusion"
// JSON: "joined": true
// JSON: "reason": "partial results of a reduction are reduced when all are there: in one launch they take

// GRAPH-DAG: joined because partial results of a reduction are reduced when all are there
// GRAPH-DAG: 2 kernels in one launch

func.func @main(%x: tensor<1048576xf32>) -> tensor<8xf32> {
  %c = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<1048576xf32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %2 = hlo.sqrt %1 : tensor<f32>
  %3 = hlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %4 = "hlo.sort"(%3) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
