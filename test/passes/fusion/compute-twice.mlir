// A cheap op of one large argument is computed by both kernels that read it: 2 x 1 MiB read instead of 1 read, 1 written,
// 1 read. One that costs much, and one of two large arguments are stored, by the kernel that sums their rows. What costs
// much to compute costs less than to keep where it would be kept in memory, not in a cache: of 64 MiB, not of 1 MiB.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s
// RUN: hlo-opt --fuse %s | FileCheck %s --check-prefix=FUSED

// CHECK-COUNT-2: subtract {{.*}} -> {{multiply|transpose}} {{.*}}: fused because computing it again takes {{.*}} us, less than to keep it in L2
module {
  func.func public @main(%x: tensor<512x512xf32>, %m: tensor<512xf32>) -> (tensor<512xf32>, tensor<512x512xf32>) {
    %c = hlo.constant dense<0.0> : tensor<f32>
    %w = hlo.broadcast_in_dim %m, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
    %0 = hlo.subtract %x, %w : tensor<512x512xf32>
    %1 = hlo.multiply %0, %0 : tensor<512x512xf32>
    %2 = hlo.reduce(%1 init: %c) applies hlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
    %3 = hlo.transpose %0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    return %2, %3 : tensor<512xf32>, tensor<512x512xf32>
  }
  // FUSED-LABEL: func.func private @dear
  // FUSED: "hlo.fusion"
  // FUSED: hlo.exponential
  // FUSED: hlo.reduce
  // FUSED-NOT: hlo.exponential
  // FUSED: return
  func.func private @dear(%x: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512x512xf32>) {
    %c = hlo.constant dense<0.0> : tensor<f32>
    %0 = hlo.exponential %x : tensor<512x512xf32>
    %1 = hlo.multiply %0, %0 : tensor<512x512xf32>
    %2 = hlo.reduce(%1 init: %c) applies hlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
    %3 = hlo.transpose %0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    return %2, %3 : tensor<512xf32>, tensor<512x512xf32>
  }
  // FUSED-LABEL: func.func private @far
  // FUSED-COUNT-2: hlo.exponential
  // FUSED: return
  func.func private @far(%x: tensor<4096x4096xf32>) -> (tensor<4096xf32>, tensor<4096x4096xf32>) {
    %c = hlo.constant dense<0.0> : tensor<f32>
    %0 = hlo.exponential %x : tensor<4096x4096xf32>
    %1 = hlo.multiply %0, %0 : tensor<4096x4096xf32>
    %2 = hlo.reduce(%1 init: %c) applies hlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
    %3 = hlo.transpose %0, dims = [1, 0] : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %2, %3 : tensor<4096xf32>, tensor<4096x4096xf32>
  }
  // FUSED-LABEL: func.func private @two
  // FUSED: "hlo.fusion"
  // FUSED: hlo.subtract
  // FUSED: hlo.reduce
  // FUSED-NOT: hlo.subtract
  // FUSED: return
  func.func private @two(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512x512xf32>) {
    %c = hlo.constant dense<0.0> : tensor<f32>
    %0 = hlo.subtract %x, %y : tensor<512x512xf32>
    %1 = hlo.multiply %0, %0 : tensor<512x512xf32>
    %2 = hlo.reduce(%1 init: %c) applies hlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
    %3 = hlo.transpose %0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    return %2, %3 : tensor<512xf32>, tensor<512x512xf32>
  }
}
