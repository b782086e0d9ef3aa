// A transpose in a fused kernel is an index map: where its loads are strided, a square tile of the
// operand is loaded along its rows and transposed in registers.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// The result is 9 x 4: tiles of 4 x 4, two rounds of shuffles (log2(4)), and their rows one by one;
// the ninth row is a tile of its own, for which lanes are gathered, 9 elements apart.
// CHECK-LABEL: func.func @add_transpose_fusion_0(
// CHECK: %[[TILE:.*]] = memref.alloca() {alignment = 64} : memref<16xf32>
// CHECK-COUNT-4: vector.load %in0[{{.*}}] : memref<36xf32>, vector<4xf32>
// CHECK-COUNT-8: vector.shuffle
// CHECK-COUNT-4: vector.store {{.*}} : memref<16xf32>, vector<4xf32>
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.load %[[TILE]]
// CHECK-NEXT: %[[BIAS:.*]] = memref.load %in1
// CHECK-NEXT: %[[SPLAT:.*]] = vector.broadcast %[[BIAS]] : f32 to vector<4xf32>
// CHECK-NEXT: arith.addf %[[X]], %[[SPLAT]] : vector<4xf32>
// CHECK: vector.store {{.*}}, %out0
// CHECK: arith.constant dense<[0, 9, 18, 27]>
// CHECK: vector.gather %in0
// CHECK: vector.store {{.*}}, %out0
func.func @main(%x: tensor<4x9xf32>, %b: tensor<9xf32>) -> tensor<9x4xf32> {
  %w = "hlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64: 1>} : (tensor<9xf32>) -> tensor<4x9xf32>
  %0 = "hlo.add"(%x, %w) : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %1 = "hlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x9xf32>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// 1 MiB and more leaves a core's own cache: of each of a tile's 16 rows the line that lies 16 rows, 16 x 512 elements,
// further on is fetched, and for each row that is stored the line behind it. Rows of the result lie 2 KiB apart: those of
// the tile stay in registers.
// CHECK-LABEL: func.func @transpose_0(
// CHECK-NOT: memref.alloca
// CHECK-COUNT-16: memref.prefetch %in0[{{.*}}], read
// CHECK-COUNT-64: vector.shuffle
// CHECK: vector.store %{{.*}}, %out0[%[[AT:.*]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %{{.*}} : index
// CHECK-NEXT: memref.prefetch %out0[%[[NEXT]]], write
// CHECK-COUNT-15: vector.store
// CHECK: return
func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// What goes past the caches is written in bands of four lines, 64 elements: a tile's neighbour along the result comes
// next. Nothing is fetched.
// CHECK-LABEL: func.func @transpose_0(

// CHECK-DAG: %[[LANES:.*]] = arith.constant 16 : index
// CHECK: scf.for %[[UNIT:.*]] = %begin to %end
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} to %{{.*}} step %[[LANES]] {
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %[[LANES]] {
// CHECK-NOT: prefetch
// CHECK-COUNT-16: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: return
func.func @main(%x: tensor<4096x2048xf32>) -> tensor<2048x4096xf32> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<4096x2048xf32>) -> tensor<2048x4096xf32>
  return %0 : tensor<2048x4096xf32>
}

// -----

// A register holds 32 elements of 16 bits: parts of a line are not written past the caches.
// CHECK-LABEL: func.func @transpose_0(
// CHECK-COUNT-32: vector.load %in0[{{.*}}] : memref<16777216xi16>, vector<32xi16>
// CHECK-COUNT-32: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true} : memref<16777216xi16>, vector<32xi16>
// CHECK: return
func.func @main(%x: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %0 : tensor<4096x4096xf16>
}

// -----

// Where not all of a result's rows fill such tiles, smaller ones waste less; they hold no whole lines.
// CHECK-LABEL: func.func @transpose_0(
// CHECK: vector.load %in0[{{.*}}] : memref<700000xi8>, vector<16xi8>
// CHECK-NOT: nontemporal
// CHECK: return
func.func @main(%x: tensor<1000x700xi8>) -> tensor<700x1000xi8> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<1000x700xi8>) -> tensor<700x1000xi8>
  return %0 : tensor<700x1000xi8>
}

// -----

// Of 256 KiB nothing is.
// CHECK-LABEL: func.func @transpose_0(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = "hlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
