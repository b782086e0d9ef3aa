// A long line is sorted in runs of 256, which are merged: 1024 takes two merges, the last of which
// writes the result.
// RUN: hlo-opt --target=nvptx:sm_80 %s | FileCheck %s

// CHECK: arena 4096 bytes
// CHECK: launch [[SORT:sort_[0-9]+]]_stage0 grid=4x1x1 block=256x1x1 (argument 0[0:4096], result 0[0:4096], arena[0:4096])
// CHECK-NEXT: launch [[SORT]]_stage1
// CHECK-NEXT: launch [[SORT]]_stage2

func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>, compare_type = #hlo<comparison_type TOTALORDER>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
