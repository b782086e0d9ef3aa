// A matrix beyond a core's own cache, 1 MiB, is fetched 8 KiB, 2048 elements of f32, ahead of its four streams.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// Rows along the depth; the vector, which every row meets, is not fetched.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: memref.prefetch %in1[{{.*}}], read, locality<2>, data : memref<786432xf32>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<1x768xf32>, %a: tensor<1024x768xf32>) -> tensor<1x1024xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<1x768xf32>, tensor<1024x768xf32>) -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}

// -----

// Rows along the result.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-COUNT-4: memref.prefetch %in1[{{.*}}], read, locality<2>, data : memref<1048576xf32>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<3x64xf32>, %a: tensor<64x16384xf32>) -> tensor<3x16384xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<3x64xf32>, tensor<64x16384xf32>) -> tensor<3x16384xf32>
  return %0 : tensor<3x16384xf32>
}

// -----

// A matrix of 1 MiB stays there.
// CHECK-LABEL: func.func @dot_general_0(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%x: tensor<1x512xf32>, %a: tensor<512x512xf32>) -> tensor<1x512xf32> {
  %0 = hlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  return %0 : tensor<1x512xf32>
}
