// Weights of 8 bits are dequantised while a dot packs them: 768 x 3072 bytes are read, never 4 times as many.
// x 393216 + weights 2359296 + scales 12288 + result 1572864 = 4337664.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s
// RUN: hlo-opt --fuse %s | FileCheck %s --check-prefix=IR

// CHECK: convert ({{.*}}) -> multiply ({{.*}}): fused because the dot computes its operand as it reads it
// CHECK: multiply ({{.*}}) -> dot_general ({{.*}}): fused because the dot computes its operand as it reads it
// CHECK: kernels: 1{{$}}
// CHECK: traffic fused: 4337664 bytes
// CHECK: traffic floor: 4337664 bytes

// IR-LABEL: func.func @main
// IR: "hlo.fusion"(%arg1, %arg2, %arg0)
// IR: return
func.func @main(%x: tensor<128x768xf32>, %w: tensor<768x3072xi8>, %s: tensor<3072xf32>) -> tensor<128x3072xf32> {
  %0 = hlo.convert %w : (tensor<768x3072xi8>) -> tensor<768x3072xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [1] : (tensor<3072xf32>) -> tensor<768x3072xf32>
  %2 = hlo.multiply %0, %1 : tensor<768x3072xf32>
  %3 = hlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<128x768xf32>, tensor<768x3072xf32>) -> tensor<128x3072xf32>
  return %3 : tensor<128x3072xf32>
}

// With one row every weight is read once, whatever its order.
// IR-LABEL: func.func private @row
// IR: "hlo.fusion"
// IR: hlo.convert
// IR: hlo.dot_general
// IR: return
func.func private @row(%x: tensor<1x768xf32>, %w: tensor<3072x768xf8E4M3FN>) -> tensor<1x3072xf32> {
  %0 = hlo.convert %w : (tensor<3072x768xf8E4M3FN>) -> tensor<3072x768xf32>
  %1 = hlo.dot_general %x, %0, contracting_dims = [1] x [1] : (tensor<1x768xf32>, tensor<3072x768xf32>) -> tensor<1x3072xf32>
  return %1 : tensor<1x3072xf32>
}

// A sum of two matrices is read twice as much as it is large; an exponential costs more than to read it.
// IR-LABEL: func.func private @stored
// IR-NOT: hlo.fusion
// IR: return
func.func private @stored(%x: tensor<128x768xf32>, %a: tensor<768x512xf32>, %b: tensor<768x512xf32>, %c: tensor<768x512xf32>) -> (tensor<128x512xf32>, tensor<128x512xf32>) {
  %0 = hlo.add %a, %b : tensor<768x512xf32>
  %1 = hlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<128x768xf32>, tensor<768x512xf32>) -> tensor<128x512xf32>
  %2 = hlo.exponential %c : tensor<768x512xf32>
  %3 = hlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<128x768xf32>, tensor<768x512xf32>) -> tensor<128x512xf32>
  return %1, %3 : tensor<128x512xf32>, tensor<128x512xf32>
}

// A scale and an activation ahead of a product with few columns are computed as its rows are packed.
// IR-LABEL: func.func private @activated
// IR: "hlo.fusion"
// IR: hlo.multiply
// IR: hlo.maximum
// IR: hlo.dot_general
// IR: return
func.func private @activated(%x: tensor<50176x64xf32>, %s: tensor<64xf32>, %w: tensor<64x32xf32>) -> tensor<50176x32xf32> {
  %0 = hlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<50176x64xf32>
  %1 = hlo.multiply %x, %0 : tensor<50176x64xf32>
  %2 = hlo.constant dense<0.0> : tensor<50176x64xf32>
  %3 = hlo.maximum %1, %2 : tensor<50176x64xf32>
  %4 = hlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<50176x64xf32>, tensor<64x32xf32>) -> tensor<50176x32xf32>
  return %4 : tensor<50176x32xf32>
}

// What normalises rows stays with the reduction that has them in the cache.
// IR-LABEL: func.func private @normalised
// IR: hlo.reduce
// IR: hlo.subtract
// IR: hlo.return
// IR-NOT: hlo.subtract
// IR: hlo.dot_general
func.func private @normalised(%x: tensor<50176x64xf32>, %w: tensor<64x32xf32>) -> (tensor<50176x32xf32>, tensor<50176x64xf32>) {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %e = hlo.exponential %x : tensor<50176x64xf32>
  %0 = "hlo.reduce"(%e, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<50176x64xf32>, tensor<f32>) -> tensor<50176xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<50176xf32>) -> tensor<50176x64xf32>
  %2 = hlo.subtract %e, %1 : tensor<50176x64xf32>
  %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<50176x64xf32>, tensor<64x32xf32>) -> tensor<50176x32xf32>
  return %3, %e : tensor<50176x32xf32>, tensor<50176x64xf32>
}

// A scale for each group of a row: vectors of a product of many rows would leave their group, so that
// the scales are spread in memory; with one row, groups of whole vectors are scaled as they are read.
// IR-LABEL: func.func private @groups
// IR-NEXT: hlo.broadcast_in_dim
// IR-NEXT: "hlo.fusion"
// IR-NOT: hlo.broadcast_in_dim
// IR: hlo.dot_general
// IR: "hlo.fusion"
// IR: hlo.broadcast_in_dim
// IR: hlo.dot_general
// IR-NEXT: hlo.return
func.func private @groups(%x: tensor<64x512xf32>, %y: tensor<1x512xf32>, %w: tensor<512x512xi8>, %s: tensor<512x8xf32>) -> (tensor<64x512xf32>, tensor<1x512xf32>) {
  %0 = hlo.convert %w : (tensor<512x512xi8>) -> tensor<512x512xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<512x8xf32>) -> tensor<512x8x64xf32>
  %2 = hlo.reshape %1 : (tensor<512x8x64xf32>) -> tensor<512x512xf32>
  %3 = hlo.multiply %0, %2 : tensor<512x512xf32>
  %4 = hlo.dot_general %x, %3, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %5 = hlo.convert %w : (tensor<512x512xi8>) -> tensor<512x512xf32>
  %6 = hlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<512x8xf32>) -> tensor<512x8x64xf32>
  %7 = hlo.reshape %6 : (tensor<512x8x64xf32>) -> tensor<512x512xf32>
  %8 = hlo.multiply %5, %7 : tensor<512x512xf32>
  %9 = hlo.dot_general %y, %8, contracting_dims = [1] x [0] : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  return %4, %9 : tensor<64x512xf32>, tensor<1x512xf32>
}
