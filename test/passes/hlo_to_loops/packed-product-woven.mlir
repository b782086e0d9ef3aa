// A left operand that is not read in place is packed: of a tile's rows the elements of a step side by side.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 32 rows are 4 tiles of 8. A tile has 32 steps x 8 rows, and a line more: 4 x (256 + 16).
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-DAG: %[[WOVEN:.*]] = memref.alloca() {{.*}} : memref<1088xf32>
// 8 rows of 16 steps are woven in 3 rounds of 8 shuffles, and are 8 vectors again.
// CHECK-COUNT-8: vector.load %in0
// CHECK-COUNT-24: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store {{.*}}, %[[WOVEN]]
// CHECK-NOT: vector.store {{.*}}, %[[WOVEN]]
// CHECK: vector.load %in1
// 8 rows of 4 steps are read one after another.
// CHECK: %{{.*}}:24 = scf.for
// CHECK-COUNT-32: memref.load %[[WOVEN]]
// CHECK-NOT: memref.load %[[WOVEN]]
// CHECK: return
func.func @main(%a: tensor<32x32xbf16>, %b: tensor<48x32xbf16>) -> tensor<32x48xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<32x32xbf16>, tensor<48x32xbf16>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
