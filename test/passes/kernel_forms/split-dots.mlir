// A deep dot of a large matrix with few vectors is partial dots over runs of rows, and their sum.
// RUN: hlo-opt --split-dots %s | FileCheck %s
// RUN: hlo-opt --split-dots='pieces=4' %s | FileCheck %s --check-prefix=FOUR

// 1024 x 512 elements are 8 parts of 2^16: 128 rows each.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = hlo.reshape %arg0 : (tensor<2x1024xf32>) -> tensor<2x8x128xf32>
// CHECK: %[[W:.*]] = hlo.reshape %arg1 : (tensor<1024x512xf32>) -> tensor<8x128x512xf32>
// CHECK: %[[P:.*]] = hlo.dot_general %[[X]], %[[W]], batching_dims = [1] x [0], contracting_dims = [2] x [1] {{.*}} -> tensor<8x2x512xf32>
// CHECK: hlo.reduce(%[[P]] init: %{{.*}}) applies hlo.add across dimensions = [0]
// FOUR: hlo.reshape %arg1 : (tensor<1024x512xf32>) -> tensor<4x256x512xf32>

// Partial sums of narrow floats are f32; they are rounded once.
// CHECK: hlo.dot_general {{.*}} -> tensor<8x1x512xf32>
// CHECK: hlo.convert {{.*}} -> tensor<1x512xbf16>

// Contiguous along the contracted dimension: work units are blocks of results.
// CHECK: hlo.dot_general %arg0, %arg4, contracting_dims = [1] x [1]
// Nine vectors are work for register tiles.
// CHECK: hlo.dot_general %arg5, %arg1, contracting_dims = [1] x [0]
func.func @main(%x: tensor<2x1024xf32>, %w: tensor<1024x512xf32>, %y: tensor<1x1024xbf16>, %v: tensor<1024x512xbf16>, %t: tensor<512x1024xf32>, %z: tensor<9x1024xf32>) -> (tensor<2x512xf32>, tensor<1x512xbf16>, tensor<2x512xf32>, tensor<9x512xf32>) {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x1024xf32>, tensor<1024x512xf32>) -> tensor<2x512xf32>
  %1 = hlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<1x1024xbf16>, tensor<1024x512xbf16>) -> tensor<1x512xbf16>
  %2 = hlo.dot_general %x, %t, contracting_dims = [1] x [1] : (tensor<2x1024xf32>, tensor<512x1024xf32>) -> tensor<2x512xf32>
  %3 = hlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<9x1024xf32>, tensor<1024x512xf32>) -> tensor<9x512xf32>
  return %0, %1, %2, %3 : tensor<2x512xf32>, tensor<1x512xbf16>, tensor<2x512xf32>, tensor<9x512xf32>
}

// A matrix whose rows another dot multiplies: 1000 x 32 elements are 2 parts, the divisor of 1000 up to 32000 / 2^13.
// CHECK-LABEL: func.func @two
// CHECK: hlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
// CHECK: hlo.reshape %arg0 : (tensor<1000x32xf32>) -> tensor<2x500x32xf32>
// CHECK: hlo.dot_general {{.*}} -> tensor<2x32xf32>
// CHECK: hlo.reduce
func.func @two(%x: tensor<1000x32xf32>, %v: tensor<32xf32>) -> tensor<32xf32> {
  %0 = hlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<1000x32xf32>, tensor<32xf32>) -> tensor<1000xf32>
  %1 = hlo.tanh %0 : tensor<1000xf32>
  %2 = hlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<1000xf32>, tensor<1000x32xf32>) -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// One that is read once only: it is small.
// CHECK-LABEL: func.func @one
// CHECK-NOT: hlo.reduce
func.func @one(%x: tensor<1000x32xf32>, %v: tensor<1000xf32>) -> tensor<32xf32> {
  %0 = hlo.dot_general %v, %x, contracting_dims = [0] x [0] : (tensor<1000xf32>, tensor<1000x32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// A product of matrices whose result is one block of tiles: 4096 steps are 8 parts of 512, 1536 are 3.
// CHECK-LABEL: func.func @blocks
// CHECK: hlo.dot_general {{.*}} : (tensor<8x512x64xf32>, tensor<8x512x64xf32>) -> tensor<8x64x64xf32>
// CHECK: hlo.reduce
// CHECK: hlo.dot_general {{.*}} : (tensor<96x3x512xf32>, tensor<3x512x64xf32>) -> tensor<3x96x64xf32>
// CHECK: hlo.reduce
// Rows in place, few of them; results of several blocks; integers, which have words.
// CHECK: hlo.dot_general {{.*}} : (tensor<16x4096xf32>, tensor<4096x64xf32>) -> tensor<16x64xf32>
// CHECK: hlo.dot_general {{.*}} : (tensor<4096x64xf32>, tensor<4096x512xf32>) -> tensor<64x512xf32>
// CHECK: hlo.dot_general {{.*}} : (tensor<64x4096xi8>, tensor<64x4096xi8>) -> tensor<64x64xi32>
func.func @blocks(%a: tensor<4096x64xf32>, %b: tensor<4096x64xf32>, %c: tensor<96x1536xf32>, %d: tensor<1536x64xf32>, %e: tensor<16x4096xf32>, %f: tensor<4096x512xf32>, %g: tensor<64x4096xi8>) -> (tensor<64x64xf32>, tensor<96x64xf32>, tensor<16x64xf32>, tensor<64x512xf32>, tensor<64x64xi32>) {
  %0 = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<64x64xf32>
  %1 = hlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<96x1536xf32>, tensor<1536x64xf32>) -> tensor<96x64xf32>
  %2 = hlo.dot_general %e, %b, contracting_dims = [1] x [0] : (tensor<16x4096xf32>, tensor<4096x64xf32>) -> tensor<16x64xf32>
  %3 = hlo.dot_general %a, %f, contracting_dims = [0] x [0] : (tensor<4096x64xf32>, tensor<4096x512xf32>) -> tensor<64x512xf32>
  %4 = hlo.dot_general %g, %g, contracting_dims = [1] x [1] : (tensor<64x4096xi8>, tensor<64x4096xi8>) -> tensor<64x64xi32>
  return %0, %1, %2, %3, %4 : tensor<64x64xf32>, tensor<96x64xf32>, tensor<16x64xf32>, tensor<64x512xf32>, tensor<64x64xi32>
}
