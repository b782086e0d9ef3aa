// Tokens leave signatures and barriers.
// RUN: hlo-opt --remove-tokens %s | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<f32>) -> tensor<f32>
// CHECK-NOT: token
// CHECK: %[[X:.*]] = hlo.optimization_barrier %arg0 : tensor<f32>
// CHECK: return %[[X]]
func.func @main(%t: !hlo.token, %x: tensor<f32>) -> (tensor<f32>, !hlo.token) {
  %0 = "hlo.create_token"() : () -> !hlo.token
  %1 = "hlo.after_all"(%0, %t) : (!hlo.token, !hlo.token) -> !hlo.token
  %2:2 = "hlo.optimization_barrier"(%1, %x) : (!hlo.token, tensor<f32>) -> (!hlo.token, tensor<f32>)
  return %2#1, %2#0 : tensor<f32>, !hlo.token
}
