// Lines of large results are fetched for writing while the last part of the depth is multiplied.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 512 x 512 floats are 1 MiB. 400 steps are parts of 144, 144 and 112: a tile's 6 rows are fetched in 112 / 32 = 3
// runs, 2 rows in each; 64 columns are 4 lines of a row.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-DAG: %[[LAST:.*]] = arith.constant 2 : index
// CHECK: scf.for
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %{{.*}}, %[[LAST]] : index
// CHECK: scf.if %[[IS_LAST]] {
// CHECK-NOT: }
// CHECK-COUNT-8: memref.prefetch %out0[{{.*}}], write, locality<3>
// CHECK-NOT: memref.prefetch %out0
// CHECK: math.fma
func.func @main(%a: tensor<512x400xf32>, %b: tensor<400x512xf32>) -> tensor<512x512xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x400xf32>, tensor<400x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
