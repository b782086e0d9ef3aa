// A statistic of a group of channels, repeated for each of its channels, is stored: otherwise the kernel
// would go over 4 channels at a time.
// RUN: hlo-opt --fuse %s | FileCheck %s

// CHECK-LABEL: func.func @group_of_4
// CHECK: %[[ROWS:.*]] = "hlo.fusion"(%arg1) <{kind = "loop"
// CHECK: -> tensor<2x32xf32>
// CHECK: "hlo.fusion"({{.*}}%[[ROWS]]{{.*}}) <{kind = "loop"
// CHECK-NOT: hlo.reshape
// CHECK: hlo.subtract
func.func @group_of_4(%x: tensor<2x64x32xf32>, %m: tensor<2x8xf32>) -> tensor<2x64x32xf32> {
  %0 = hlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x4xf32>
  %1 = hlo.reshape %0 : (tensor<2x8x4xf32>) -> tensor<2x32xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<2x32xf32>) -> tensor<2x64x32xf32>
  %3 = hlo.subtract %x, %2 : tensor<2x64x32xf32>
  return %3 : tensor<2x64x32xf32>
}

// Groups of 16 are whole vectors: one kernel. So are rows that are no longer than the groups.
// CHECK-LABEL: func.func @group_of_16
// CHECK-COUNT-1: "hlo.fusion"
// CHECK-NOT: "hlo.fusion"
// CHECK-LABEL: func.func @short_rows
// CHECK-COUNT-1: "hlo.fusion"
// CHECK-NOT: "hlo.fusion"
func.func @group_of_16(%x: tensor<2x64x32xf32>, %m: tensor<2x2xf32>) -> tensor<2x64x32xf32> {
  %0 = hlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x16xf32>
  %1 = hlo.reshape %0 : (tensor<2x2x16xf32>) -> tensor<2x32xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<2x32xf32>) -> tensor<2x64x32xf32>
  %3 = hlo.subtract %x, %2 : tensor<2x64x32xf32>
  return %3 : tensor<2x64x32xf32>
}
func.func @short_rows(%x: tensor<2x64x8xf32>, %m: tensor<2x2xf32>) -> tensor<2x64x8xf32> {
  %0 = hlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x4xf32>
  %1 = hlo.reshape %0 : (tensor<2x2x4xf32>) -> tensor<2x8xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<2x8xf32>) -> tensor<2x64x8xf32>
  %3 = hlo.subtract %x, %2 : tensor<2x64x8xf32>
  return %3 : tensor<2x64x8xf32>
}
