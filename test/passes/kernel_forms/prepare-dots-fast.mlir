// With `fast`, kernels may take subnormal factors and sums of bf16 products for zero; others may not.
// RUN: hlo-opt --prepare-dots='fast=true' %s | FileCheck %s
// RUN: hlo-opt --prepare-dots %s | FileCheck %s --check-prefix=STRICT

// STRICT-LABEL: func.func @main
// STRICT-NOT: flushes_subnormals
// CHECK-LABEL: func.func @main
// CHECK: hlo.dot_general %arg0, %arg1, {{.*}} {hlo.flushes_subnormals}
// CHECK: hlo.dot_general %{{.*}}, %arg2
// CHECK-NOT: flushes_subnormals
// CHECK: return
func.func @main(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>, %c: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
  %a32 = hlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = hlo.dot_general %a32, %c, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}
