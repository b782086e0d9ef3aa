// A thread writes 512 KiB past the caches before it takes more of a kernel's work: taking some waits for all such stores.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// Units of 4096 elements, 16 KiB.
// CHECK: func.func private @{{.*}}(memref<268435456xf32>, memref<268435456xf32>) attributes {hlo.grain = 32 : i64, hlo.units = 65536 : i64}
func.func @main(%x: tensor<268435456xf32>) -> tensor<268435456xf32> {
  %0 = hlo.add %x, %x : tensor<268435456xf32>
  return %0 : tensor<268435456xf32>
}

// -----

// Of rows that are folded and computed, 4 KiB each.
// CHECK: func.func private @{{.*}}(memref<268435456xf32>, memref<268435456xf32>) attributes {hlo.grain = 128 : i64, hlo.units = 262144 : i64}
func.func @main(%x: tensor<262144x1024xf32>) -> tensor<262144x1024xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %sums = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<262144x1024xf32>, tensor<f32>) -> tensor<262144xf32>
  %0 = hlo.broadcast_in_dim %sums, dims = [0] : (tensor<262144xf32>) -> tensor<262144x1024xf32>
  %1 = hlo.subtract %x, %0 : tensor<262144x1024xf32>
  return %1 : tensor<262144x1024xf32>
}

// -----

// Results that stay in the caches are given out in the pieces that are worth a thread's while.
// CHECK: func.func private @{{.*}}(memref<2097152xf32>, memref<2097152xf32>) attributes {hlo.grain = {{[1-9]}} : i64, hlo.units = 512 : i64}
func.func @main(%x: tensor<2097152xf32>) -> tensor<2097152xf32> {
  %0 = hlo.add %x, %x : tensor<2097152xf32>
  return %0 : tensor<2097152xf32>
}
