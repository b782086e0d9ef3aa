// The rest of a short row is stored in parts without a mask: the next row, which may be loaded from the
// same memory, need not wait for it.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 23 = 16 + 4 + 2 + 1.
// CHECK-LABEL: func.func @multiply_fusion_0(
// CHECK-SAME: %in0: memref<1035xf32>, %in1: memref<45xf32>, %out0: memref<1035xf32>
// CHECK: vector.store {{.*}} %out0{{.*}} vector<16xf32>
// CHECK: vector.maskedload %in0
// CHECK: %[[REST:.*]] = arith.mulf {{.*}} vector<16xf32>
// CHECK-NOT: vector.maskedstore
// CHECK: %[[FOUR:.*]] = vector.shuffle %[[REST]], %[[REST]] [0, 1, 2, 3]
// CHECK-NEXT: vector.store %[[FOUR]], %out0
// CHECK: %[[TWO:.*]] = vector.shuffle %[[REST]], %[[REST]] [4, 5]
// CHECK-NEXT: vector.store %[[TWO]], %out0
// CHECK: %[[ONE:.*]] = vector.extract %[[REST]][6]
// CHECK: memref.store %[[ONE]], %out0
// CHECK-NOT: vector.maskedstore
// CHECK: return
func.func @main(%x: tensor<45x23xf32>, %y: tensor<45xf32>) -> tensor<45x23xf32> {
  %0 = hlo.broadcast_in_dim %y, dims = [0] : (tensor<45xf32>) -> tensor<45x23xf32>
  %1 = hlo.multiply %x, %0 : tensor<45x23xf32>
  return %1 : tensor<45x23xf32>
}
