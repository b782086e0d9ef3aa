// A slice that is contiguous in its operand is no copy: kernels get the address of its first element.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// Layer 2 of 4 begins at element 2 * 64 * 48 = 6144.
// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]] = memref.subview %arg0[6144] [3072] [1]
// CHECK: %[[LAYER:.*]] = builtin.unrealized_conversion_cast %[[PART]]
// CHECK-NOT: memref.alloc
// CHECK: call @dot_general_{{.*}}(%arg1, %[[LAYER]], %arg2)
// CHECK-NEXT: return
func.func @main(%w: tensor<4x64x48xf32>, %x: tensor<16x64xf32>) -> tensor<16x48xf32> {
  %s = hlo.slice %w [2:3, 0:64, 0:48] : (tensor<4x64x48xf32>) -> tensor<1x64x48xf32>
  %m = hlo.reshape %s : (tensor<1x64x48xf32>) -> tensor<64x48xf32>
  %0 = hlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x48xf32>) -> tensor<16x48xf32>
  return %0 : tensor<16x48xf32>
}

