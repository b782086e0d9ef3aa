// A row is summed in vector lanes, which are added up by halves at its end.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 40 = 2 x 16 + 8: the rest is masked, and lanes out of it hold -0, which adds nothing.
// CHECK-LABEL: func.func @reduce_0(
// CHECK: %[[NEUTRAL:.*]] = arith.constant dense<0x80000000> : vector<16xf32>
// CHECK: %[[WHOLE:.*]] = arith.constant 32 : index
// CHECK: %[[MASK:.*]] = arith.constant dense<[{{((true, ){8}(false, ){7})}}false]> : vector<16xi1>
// CHECK: %[[TOTAL:.*]] = scf.for %{{.*}} to %[[WHOLE]] step %{{.*}} iter_args(%[[SUM:.*]] = %[[NEUTRAL]]) -> (vector<16xf32>)
// CHECK: %[[ROW:.*]] = vector.load
// CHECK: arith.addf %[[SUM]], %[[ROW]] : vector<16xf32>
// CHECK: %[[REST:.*]] = vector.maskedload
// CHECK: arith.select %[[MASK]], %[[REST]], %[[NEUTRAL]]
// 16 lanes to 8 to 4 to 2 to 1.
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : f32
// CHECK: memref.store
func.func @main(%x: tensor<5x40xf32>) -> tensor<5xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [1] : (tensor<5x40xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
