// A custom call that nothing can run is an error at its place.
// RUN: %not hlo-opt --drop-no-op-custom-calls %s 2>&1 | FileCheck %s

// CHECK: unknown-custom-call.mlir
// CHECK-SAME: 'hlo.custom_call': the custom call @my_kernel is not known
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.custom_call @my_kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
