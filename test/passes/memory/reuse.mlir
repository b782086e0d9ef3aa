// 20 intermediates of 262144 x 1024 floats = 1 GiB each, planned and not run. Each dies when the next is
// made, so two are live at once: 2 x 1073741824 bytes. Without reuse: 20 x 1073741824.
// RUN: hlo-opt --explain-memory %s | FileCheck %s
// RUN: hlo-opt --explain-memory --no-reuse %s | FileCheck %s --check-prefix=APART
// RUN: hlo-opt --print-live-ranges %s | FileCheck %s --check-prefix=RANGES

// CHECK: arena bytes: 2147483648 (2 GiB)
// CHECK-NEXT: floor bytes: 2147483648
// CHECK: copies: 0
// CHECK-NEXT: buffers: 20

// APART: arena bytes: 21474836480 (20 GiB)
// APART-NEXT: floor bytes: 2147483648

// RANGES-NOT: arena bytes
// RANGES: buffers: 20, steps:
// RANGES-COUNT-20: bytes at {{0|1073741824}}  dot_general  reuse.mlir:

func.func @main(%x: tensor<262144x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<262144xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %4 = hlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %5 = hlo.dot_general %4, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %6 = hlo.dot_general %5, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %7 = hlo.dot_general %6, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %8 = hlo.dot_general %7, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %9 = hlo.dot_general %8, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %10 = hlo.dot_general %9, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %11 = hlo.dot_general %10, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %12 = hlo.dot_general %11, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %13 = hlo.dot_general %12, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %14 = hlo.dot_general %13, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %15 = hlo.dot_general %14, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %16 = hlo.dot_general %15, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %17 = hlo.dot_general %16, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %18 = hlo.dot_general %17, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %19 = hlo.dot_general %18, %w, contracting_dims = [1] x [0] : (tensor<262144x1024xf32>, tensor<1024x1024xf32>) -> tensor<262144x1024xf32>
  %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
  %sum = hlo.reduce(%19 init: %zero) applies hlo.add across dimensions = [1] : (tensor<262144x1024xf32>, tensor<f32>) -> tensor<262144xf32>
  return %sum : tensor<262144xf32>
}
