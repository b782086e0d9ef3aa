// Rows of 7 vectors, 112 = 7 x 16 columns, are tiles of 4 and 3: 3, 3 and 1 would leave a vector
// alone, whose few sums wait for each other. 10 rows are 2 x 5.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-20: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-15: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
func.func @main(%w: tensor<10x8xf32>, %x: tensor<8x112xf32>) -> tensor<10x112xf32> {
  %0 = hlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<10x8xf32>, tensor<8x112xf32>) -> tensor<10x112xf32>
  return %0 : tensor<10x112xf32>
}
