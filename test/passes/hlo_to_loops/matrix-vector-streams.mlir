// The rows of a matrix that leaves a core's own cache are read in four streams.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 2.5 MiB: rows that are a quarter of a block of 64 apart.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
func.func @main(%x: tensor<1x10240xf32>, %a: tensor<64x10240xf32>) -> tensor<1x64xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<1x10240xf32>, tensor<64x10240xf32>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}
