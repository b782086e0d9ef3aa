// A convolution computes its input as it packs it, a block of positions at a time: a batch normalisation and an
// activation ahead of it, as in residual networks that activate first, never reach memory.
// x 6422528 + scale 256 + shift 256 + kernel 147456 + result 6422528 = 12993024.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s
// RUN: hlo-opt --prepare-convolutions --fuse %s | FileCheck %s --check-prefix=IR

// CHECK: multiply ({{.*}}) -> add ({{.*}}): fused because computed 2.4 times as it is packed it takes {{.*}} us, less than to store it first
// CHECK: add ({{.*}}) -> maximum ({{.*}}): fused because computed 2.4 times
// CHECK: maximum ({{.*}}) -> convolution ({{.*}}): fused because computed 2.4 times
// CHECK: kernels: 1{{$}}
// CHECK: traffic fused: 12993024 bytes
// CHECK: traffic floor: 12993024 bytes

// IR-LABEL: func.func @main
// IR: "hlo.fusion"
// IR: hlo.multiply
// IR: hlo.add
// IR: hlo.maximum
// IR: hlo.convolution
// IR: return
func.func @main(%x: tensor<8x56x56x64xf32>, %s: tensor<64xf32>, %t: tensor<64xf32>, %k: tensor<3x3x64x64xf32>) -> tensor<8x56x56x64xf32> {
  %0 = hlo.broadcast_in_dim %s, dims = [3] : (tensor<64xf32>) -> tensor<8x56x56x64xf32>
  %1 = hlo.multiply %x, %0 : tensor<8x56x56x64xf32>
  %2 = hlo.broadcast_in_dim %t, dims = [3] : (tensor<64xf32>) -> tensor<8x56x56x64xf32>
  %3 = hlo.add %1, %2 : tensor<8x56x56x64xf32>
  %4 = hlo.constant dense<0.0> : tensor<8x56x56x64xf32>
  %5 = hlo.maximum %3, %4 : tensor<8x56x56x64xf32>
  %6 = hlo.convolution(%5, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x56x56x64xf32>
  return %6 : tensor<8x56x56x64xf32>
}

// A pooling's kernel stores what it gives anyway: it activates that on the way.
// IR-LABEL: func.func private @behind_a_pooling
// IR: "hlo.fusion"
// IR: hlo.reduce_window
// IR: hlo.maximum
// IR: hlo.return
// IR-NOT: hlo.maximum
// IR: hlo.convolution
// IR: return
func.func private @behind_a_pooling(%x: tensor<8x57x57x64xf32>, %k: tensor<3x3x64x64xf32>) -> tensor<8x54x54x64xf32> {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<8x57x57x64xf32>, tensor<f32>) -> tensor<8x56x56x64xf32>
  %1 = hlo.constant dense<0.0> : tensor<8x56x56x64xf32>
  %2 = hlo.maximum %0, %1 : tensor<8x56x56x64xf32>
  %3 = hlo.convolution(%2, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x54x54x64xf32>
  return %3 : tensor<8x54x54x64xf32>
}

// 16 runs of columns would each compute a dear function again: it is stored first. The sum of two tensors is
// read twice as much as it is large.
// IR-LABEL: func.func private @stored
// IR: hlo.tanh
// IR-NOT: hlo.fusion
// IR: hlo.convolution
// IR: hlo.add
// IR-NOT: hlo.fusion
// IR: hlo.convolution
// IR: return
func.func private @stored(%x: tensor<1x14x14x256xf32>, %y: tensor<1x14x14x256xf32>, %k: tensor<3x3x256x512xf32>) -> (tensor<1x12x12x512xf32>, tensor<1x12x12x512xf32>) {
  %0 = hlo.tanh %x : tensor<1x14x14x256xf32>
  %1 = hlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x14x14x256xf32>, tensor<3x3x256x512xf32>) -> tensor<1x12x12x512xf32>
  %2 = hlo.add %x, %y : tensor<1x14x14x256xf32>
  %3 = hlo.convolution(%2, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x14x14x256xf32>, tensor<3x3x256x512xf32>) -> tensor<1x12x12x512xf32>
  return %1, %3 : tensor<1x12x12x512xf32>, tensor<1x12x12x512xf32>
}
