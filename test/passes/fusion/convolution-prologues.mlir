// A convolution computes its kernel as it packs it: 8-bit weights never exist as floats, and the kernel of a
// gradient by the input, turned around and with features exchanged, is read where it is.
// x 65536 + weights 36864 + scales 256 + result 65536 = 168192.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s
// RUN: hlo-opt --prepare-convolutions --fuse %s | FileCheck %s --check-prefix=IR

// CHECK: convert ({{.*}}) -> multiply ({{.*}}): fused because the convolution computes its kernel as it packs it
// CHECK: multiply ({{.*}}) -> convolution ({{.*}}): fused because the convolution computes its kernel as it packs it
// CHECK: traffic fused: 168192 bytes
// CHECK: traffic floor: 168192 bytes

// IR-LABEL: func.func @main
// IR: "hlo.fusion"
// IR: hlo.convert
// IR: hlo.multiply
// IR: hlo.convolution
// IR: return
func.func @main(%x: tensor<1x16x16x64xf32>, %w: tensor<3x3x64x64xi8>, %s: tensor<64xf32>) -> tensor<1x16x16x64xf32> {
  %0 = hlo.convert %w : (tensor<3x3x64x64xi8>) -> tensor<3x3x64x64xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [3] : (tensor<64xf32>) -> tensor<3x3x64x64xf32>
  %2 = hlo.multiply %0, %1 : tensor<3x3x64x64xf32>
  %3 = hlo.convolution(%x, %2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32>
  return %3 : tensor<1x16x16x64xf32>
}

// IR-LABEL: func.func private @gradient
// IR: "hlo.fusion"
// IR: hlo.reverse
// IR: hlo.transpose
// IR: hlo.convolution
// IR: return
func.func private @gradient(%dy: tensor<1x16x16x64xf32>, %k: tensor<3x3x32x64xf32>) -> tensor<1x16x16x32xf32> {
  %0 = hlo.reverse %k, dims = [0, 1] : tensor<3x3x32x64xf32>
  %1 = hlo.convolution(%dy, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x64xf32>, tensor<3x3x32x64xf32>) -> tensor<1x16x16x32xf32>
  return %1 : tensor<1x16x16x32xf32>
}

// What is dear to compute is stored first, and so is a kernel too large for scratch: 9 x 16384 rows of 16
// features take 9 MiB.
// IR-LABEL: func.func private @stored
// IR: "hlo.fusion"
// IR-NOT: hlo.convolution
// IR: hlo.return
func.func private @stored(%x: tensor<1x16x16x64xf32>, %w: tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32> {
  %0 = hlo.exponential %w : tensor<3x3x64x64xf32>
  %1 = hlo.tanh %0 : tensor<3x3x64x64xf32>
  %2 = hlo.convolution(%x, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32>
  return %2 : tensor<1x16x16x64xf32>
}

// IR-LABEL: func.func private @large
// IR: hlo.reverse
// IR-NOT: hlo.fusion
// IR: hlo.convolution
// IR: return
func.func private @large(%x: tensor<1x16x16x16384xf32>, %w: tensor<3x3x16384x16xf32>) -> tensor<1x16x16x16xf32> {
  %0 = hlo.reverse %w, dims = [0, 1] : tensor<3x3x16384x16xf32>
  %1 = hlo.convolution(%x, %0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x16384xf32>, tensor<3x3x16384x16xf32>) -> tensor<1x16x16x16xf32>
  return %1 : tensor<1x16x16x16xf32>
}
