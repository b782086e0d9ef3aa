// Convolutions of bf16 have pairs for words where subnormal numbers may be taken for zero.
// REQUIRES: pairs
// RUN: hlo-opt --prepare-words %s | FileCheck %s
// RUN: hlo-opt --prepare-words='fast=true' --prepare-convolutions --pack-kernels %s | FileCheck %s --check-prefix=PACKED

// CHECK-LABEL: func.func private @halves
// CHECK-NOT: hlo.flushes_subnormals
// CHECK: return
// PACKED-LABEL: func.func private @halves
// PACKED: hlo.transpose {{.*}} -> tensor<1x3x3x16x64x2xbf16>
// PACKED: hlo.convolution({{.*}}hlo.flushes_subnormals
func.func private @halves(%x: tensor<1x20x20x32xbf16>, %k: tensor<3x3x32x64xbf16>) -> tensor<1x18x18x64xbf16> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x20x20x32xbf16>, tensor<3x3x32x64xbf16>) -> tensor<1x18x18x64xbf16>
  return %0 : tensor<1x18x18x64xbf16>
}
