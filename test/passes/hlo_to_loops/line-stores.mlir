// Rows of a large result that begin anywhere in a line: whole lines of each go past the caches, what lies ahead of them and behind is stored under masks.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @add_fusion_0(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[LANES:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[ROW:.*]] = arith.constant 4099 : index
// CHECK-DAG: %[[BACK:.*]] = arith.constant -4099 : index
// CHECK-DAG: %[[LAST_LANE:.*]] = arith.constant 15 : index
// CHECK-DAG: %[[WHOLE:.*]] = arith.constant -16 : index
// CHECK: scf.for %[[I:.*]] = %begin to %end
// CHECK: %[[OFFSET:.*]] = arith.muli %[[I]], %[[BACK]] : index
// CHECK: %[[BEFORE:.*]] = arith.andi %[[OFFSET]], %[[LAST_LANE]] : index
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROW]], %[[BEFORE]] : index
// CHECK: %[[LINES:.*]] = arith.andi %[[LEFT]], %[[WHOLE]] : index
// CHECK: %[[END:.*]] = arith.addi %[[BEFORE]], %[[LINES]] : index
// CHECK: scf.for %{{.*}} = %[[BEFORE]] to %[[END]] step %[[LANES]] {
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: }
// CHECK: %[[REST:.*]] = arith.subi %[[ROW]], %[[END]] : index
// CHECK: arith.index_cast %[[BEFORE]] : index to i32
// CHECK: vector.maskedstore
// CHECK: arith.index_cast %[[REST]] : index to i32
// CHECK: vector.maskedstore
// CHECK-NOT: nontemporal
// CHECK: return
func.func @main(%x: tensor<2048x4099xf32>, %y: tensor<4099xf32>) -> tensor<2048x4099xf32> {
  %0 = hlo.broadcast_in_dim %y, dims = [1] : (tensor<4099xf32>) -> tensor<2048x4099xf32>
  %1 = hlo.add %x, %0 : tensor<2048x4099xf32>
  return %1 : tensor<2048x4099xf32>
}

// -----

// Of 4 MiB, whoever reads the result finds it in a cache: plain stores.
// CHECK-LABEL: func.func @
// CHECK-NOT: nontemporal
// CHECK: return
func.func @main(%x: tensor<256x4099xf32>, %y: tensor<4099xf32>) -> tensor<256x4099xf32> {
  %0 = hlo.broadcast_in_dim %y, dims = [1] : (tensor<4099xf32>) -> tensor<256x4099xf32>
  %1 = hlo.add %x, %0 : tensor<256x4099xf32>
  return %1 : tensor<256x4099xf32>
}
