// A right operand in rows is packed by the first tile of each panel; then each panel meets the other tiles.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 128 rows are 16 tiles of 8, 768 columns 16 panels of 48: 8 units of 16 tiles and 2 panels, 192 x 48 each.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-DAG: %[[STEPS:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[PANELS:.*]] = memref.alloca() {{.*}} : memref<18432xf32>
// A tile is there once, with a choice around its products.
// CHECK: %[[PACKS:.*]] = arith.cmpi eq
// CHECK: %{{.*}}:24 = scf.for
// CHECK: %{{.*}}:24 = scf.if %[[PACKS]]
// A vector is packed, and read from there; 24 products for a step, as few tiles pack.
// CHECK: %{{.*}}:24 = scf.for
// CHECK: vector.load %in1
// CHECK: vector.store {{.*}}, %[[PANELS]]
// CHECK: vector.load %[[PANELS]]
// CHECK-COUNT-24: math.fma
// CHECK-NOT: math.fma
// CHECK: else
// The other tiles have four steps together.
// CHECK: %{{.*}}:24 = scf.for {{.*}} step %[[STEPS]]
// CHECK-NOT: vector.load %in1
// CHECK: vector.load %[[PANELS]]
// CHECK-NOT: vector.store {{.*}}, %[[PANELS]]
// CHECK-COUNT-96: math.fma
// CHECK-NOT: math.fma
// CHECK-COUNT-24: vector.store {{.*}}, %out0
// CHECK-NOT: vector.store
// CHECK: return
func.func @main(%a: tensor<128x192xf32>, %b: tensor<192x768xf32>) -> tensor<128x768xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<128x192xf32>, tensor<192x768xf32>) -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}
