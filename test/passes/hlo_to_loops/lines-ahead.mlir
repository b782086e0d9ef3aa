// What comes from memory is fetched 2 KiB, 512 elements of f32, ahead of its loads, and 8 KiB ahead into the second cache; a fold down columns fetches its next 8 rows.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// A tensor of 8 MiB: two operands, each fetched once into both for a vector that is loaded.
// CHECK-LABEL: func.func @add_0(
// CHECK: %[[FARTHER:.*]] = arith.constant 2048 : index
// CHECK: %[[DISTANCE:.*]] = arith.constant 512 : index
// CHECK: scf.for
// CHECK: %[[LATER:.*]] = arith.addi %[[AT:.*]], %[[FARTHER]] : index
// CHECK: memref.prefetch %in0[%[[LATER]]], read, locality<2>, data : memref<2097152xf32>
// CHECK: %[[AHEAD:.*]] = arith.addi %[[AT]], %[[DISTANCE]] : index
// CHECK: memref.prefetch %in0[%[[AHEAD]]], read, locality<3>, data : memref<2097152xf32>
// CHECK: vector.load %in0[%[[AT]]]
// CHECK: memref.prefetch %in1[%[[LATER]]], read, locality<2>
// CHECK: memref.prefetch %in1[%[[AHEAD]]]
// CHECK: vector.load %in1[%[[AT]]]
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<2097152xf32>, %y: tensor<2097152xf32>) -> tensor<2097152xf32> {
  %0 = hlo.add %x, %y : tensor<2097152xf32>
  return %0 : tensor<2097152xf32>
}

// -----

// A tensor of 4 MiB is found in a cache.
// CHECK-LABEL: func.func @add_0(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = hlo.add %x, %y : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}

// -----

// Neighbours are in the same lines, but for a few: those of one are enough.
// CHECK-LABEL: func.func @add_fusion_0(
// CHECK-COUNT-2: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<2097153xf32>) -> tensor<2097152xf32> {
  %0 = hlo.slice %x [0:2097152] : (tensor<2097153xf32>) -> tensor<2097152xf32>
  %1 = hlo.slice %x [1:2097153] : (tensor<2097153xf32>) -> tensor<2097152xf32>
  %2 = hlo.add %0, %1 : tensor<2097152xf32>
  return %2 : tensor<2097152xf32>
}

// -----

// 8 rows of 1024 elements are 8192.
// CHECK-LABEL: func.func @reduce_fusion_0(
// CHECK: %[[DISTANCE:.*]] = arith.constant 8192 : index
// CHECK: arith.addi %[[AT:.*]], %[[DISTANCE]] : index
// CHECK-NEXT: memref.prefetch %in0
// CHECK-NEXT: vector.load %in0[%[[AT]]]
// CHECK-COUNT-7: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<2048x1024xf32>) -> tensor<1024xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<2048x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// Rows of 1 KiB, wherever they lie: that of the index 2 further on, the last one at the end, is fetched.
// CHECK-LABEL: func.func @gather_0(
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[LAST:.*]] = arith.constant 499 : index
// CHECK: scf.for %[[ROW:.*]] = %begin
// CHECK: memref.load %in1[%[[ROW]]]
// CHECK: %[[LATER:.*]] = arith.addi %[[ROW]], %[[TWO]] : index
// CHECK: %[[PLACE:.*]] = arith.minsi %[[LATER]], %[[LAST]] : index
// CHECK: memref.load %in1[%[[PLACE]]]
// CHECK: scf.for
// CHECK: memref.prefetch %in0
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<8192x256xf32>, %i: tensor<500x1xi32>) -> tensor<500x256xf32> {
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<8192x256xf32>, tensor<500x1xi32>) -> tensor<500x256xf32>
  return %0 : tensor<500x256xf32>
}

// -----

// Under a condition that all lanes share, whose other side reads nothing, as well.
// CHECK-LABEL: func.func @pad_0(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.if
// CHECK: memref.prefetch %in0[%{{.*}}], read, locality<2>
// CHECK-NEXT: arith.addi
// CHECK-NEXT: memref.prefetch %in0[%{{.*}}], read, locality<3>
// CHECK-NEXT: vector.load %in0
// CHECK: return
func.func @main(%x: tensor<2048x1024xf32>) -> tensor<2050x1024xf32> {
  %0 = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.pad %x, %0, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<2048x1024xf32>, tensor<f32>) -> tensor<2050x1024xf32>
  return %1 : tensor<2050x1024xf32>
}
