// A line is sorted in a block's shared memory where it fits: 1024 keys of 4 bytes and positions of 2.
// One of 8192 would leave all blocks but one idle: four tiles of 2048 are merged twice, in turn from the
// result to memory of their own, 8192 x 4 bytes, and back.
// RUN: hlo-opt --target=nvptx:sm_80 %s | FileCheck %s

// CHECK: arena 32768 bytes
// CHECK-DAG: kernel [[SHORT:sort_[0-9]+]]: 2 buffers, writes 1, 6144 bytes shared
// CHECK-DAG: kernel [[LONG:sort_[0-9]+]]_stage0: 3 buffers, writes 1, 12288 bytes shared
// CHECK-DAG: launch [[SHORT]] grid=1x1x1 block=512x1x1 (argument 0[0:4096], result 0[0:4096])
// CHECK-DAG: launch [[LONG]]_stage0 grid=4x1x1 block=1024x1x1 (argument 1[0:32768], result 1[0:32768], arena[0:32768])
// CHECK: launch [[LONG]]_stage1 grid=32x1x1 block=256x1x1
// CHECK-NEXT: launch [[LONG]]_stage2

func.func @main(%x: tensor<1024xf32>, %y: tensor<8192xf32>) -> (tensor<1024xf32>, tensor<8192xf32>) {
  %0 = "hlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>, compare_type = #hlo<comparison_type TOTALORDER>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = "hlo.sort"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = "hlo.compare"(%a, %b) {comparison_direction = #hlo<comparison_direction LT>, compare_type = #hlo<comparison_type TOTALORDER>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8192xf32>) -> tensor<8192xf32>
  return %0, %1 : tensor<1024xf32>, tensor<8192xf32>
}
