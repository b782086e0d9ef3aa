// The last tile, cut off, has as many rows as the others and stores its own: its code is there once.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 196 rows are 33 tiles of 6, the last of 4: it begins at row 190, and its first two rows are not stored.
// CHECK-LABEL: func.func @dot_general_tanh_fusion_0(
// CHECK-DAG: %[[LAST_ROW:.*]] = arith.constant 190 : index
// CHECK: %[[FIRST:.*]] = arith.minui %{{.*}}, %[[LAST_ROW]] : index
// 24 products for a step of a tile that packs, 96 for four of the others.
// CHECK-COUNT-120: math.fma
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq
// CHECK: %[[BEGIN:.*]] = arith.select %[[IS_LAST]], %{{.*}}, %{{.*}} : index
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to
// CHECK-COUNT-4: vector.store {{.*}}, %out0
// CHECK-NOT: vector.store {{.*}}, %out0
// CHECK: return
func.func @main(%a: tensor<196x128xf32>, %b: tensor<128x512xf32>) -> tensor<196x512xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<196x128xf32>, tensor<128x512xf32>) -> tensor<196x512xf32>
  %1 = hlo.tanh %0 : tensor<196x512xf32>
  return %1 : tensor<196x512xf32>
}
