// Whole tiles of 2^18 multiply-adds and more take two steps of the depth between two looks at the end of the loop.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 69 rows are 11 tiles of 6 and one of 3, 64 columns 4 vectors: 2 x 24 products, and 1 x 12.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-48: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-12: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
func.func @main(%w: tensor<69x64xf32>, %x: tensor<64x64xf32>) -> tensor<69x64xf32> {
  %0 = hlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<69x64xf32>, tensor<64x64xf32>) -> tensor<69x64xf32>
  return %0 : tensor<69x64xf32>
}
