// A matrix with few vectors is read once, in four streams of rows: contiguous along the result.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 512 x 1024 = 2^19 elements are 8 parts of 64 rows, 4 streams x 16 rows; their sum follows.
// CHECK: call @dot_general_0({{.*}}memref<8192xf32>)
// CHECK: call @reduce_1({{.*}}memref<8192xf32>, memref<1024xf32>)
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for
// CHECK: vector.store {{.*}} %out0
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: vector.load %in1
// CHECK: vector.load %out0
// CHECK-COUNT-4: math.fma
// CHECK: vector.store {{.*}} %out0
// CHECK: return
func.func @main(%y: tensor<1x512xf32>, %b: tensor<512x1024xf32>) -> tensor<1x1024xf32> {
  %0 = hlo.dot_general %y, %b, contracting_dims = [1] x [0] : (tensor<1x512xf32>, tensor<512x1024xf32>) -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}
