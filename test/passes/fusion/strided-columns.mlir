// The columns of %b are 4 elements apart. Every row of the result reads all of each: they are put side by side once, in one
// launch. Those of %a are read once for a row, and a slice of neighbours is read as it is.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: slice (strided-columns.mlir:13) -> broadcast_in_dim {{.*}}: fused because all its readers are in this kernel
// CHECK: slice (strided-columns.mlir:14) -> reshape {{.*}}: not fused because its elements lie apart and are read repeatedly
// CHECK: slice (strided-columns.mlir:18) -> broadcast_in_dim {{.*}}: fused because all its readers are in this kernel
// CHECK: slice (strided-columns.mlir:19) -> broadcast_in_dim {{.*}}: not fused because its elements lie apart
// CHECK: kernels: 2
// CHECK: slice_x2 [horizontal]
// CHECK: maximum_add_add_fusion [loop]
func.func @main(%a: tensor<256x4xf32>, %b: tensor<256x4xf32>, %v: tensor<768xf32>) -> tensor<256x256xf32> {
  %0 = hlo.slice %a [0:256, 0:1] : (tensor<256x4xf32>) -> tensor<256x1xf32>
  %1 = hlo.slice %b [0:256, 1:2] : (tensor<256x4xf32>) -> tensor<256x1xf32>
  %2 = hlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<256x1xf32>) -> tensor<256x256xf32>
  %3 = hlo.reshape %1 : (tensor<256x1xf32>) -> tensor<256xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [1] : (tensor<256xf32>) -> tensor<256x256xf32>
  %5 = hlo.slice %v [7:263] : (tensor<768xf32>) -> tensor<256xf32>
  %6 = hlo.slice %v [0:768:3] : (tensor<768xf32>) -> tensor<256xf32>
  %7 = hlo.broadcast_in_dim %5, dims = [1] : (tensor<256xf32>) -> tensor<256x256xf32>
  %8 = hlo.broadcast_in_dim %6, dims = [1] : (tensor<256xf32>) -> tensor<256x256xf32>
  %9 = hlo.maximum %2, %4 : tensor<256x256xf32>
  %10 = hlo.add %9, %7 : tensor<256x256xf32>
  %11 = hlo.add %10, %8 : tensor<256x256xf32>
  return %11 : tensor<256x256xf32>
}
