// A kernel with work for several threads goes through the pool.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST
// RUN: hlo-opt --compile-to=llvm %s | FileCheck %s

// 262144 elements; a sine counts as 8 operations, so a unit is 4096 / 8 = 512 elements: 512 units.
// 262144 / 16 vectors of 13.5 cycles take 54 us: 134 pieces of 0.4 us, of 512 / 134 = 4 units each.
// HOST: func.func private @sine_0(memref<262144xf32>, memref<262144xf32>) attributes {hlo.grain = 4 : i64, hlo.units = 512 : i64}

// CHECK: llvm.func @hlo_main
// CHECK: %[[UNITS:.*]] = llvm.mlir.constant(512 : i64)
// CHECK: %[[GRAIN:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @sine_0__packed
// CHECK: llvm.call @hlo_rt_parallel_for(%{{.*}}, %[[KERNEL]], %{{.*}}, %[[UNITS]], %[[GRAIN]])
func.func @main(%x: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %0 = "hlo.sine"(%x) : (tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}
