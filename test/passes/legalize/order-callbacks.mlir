// Tokens of Python callbacks become integers: through signatures, loops and branches.
// RUN: hlo-opt --order-callbacks %s | FileCheck %s
// RUN: hlo-opt --order-callbacks %s | FileCheck %s --check-prefix=BRANCH

// CHECK-LABEL: func.func @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> tensor<f32>
// CHECK-NOT: token
// CHECK: %[[T:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK: hlo.while(%{{.*}} = %[[T]], %{{.*}} = %arg0) : tensor<i32>, tensor<f32>
// CHECK: hlo.custom_call @hlo.python_callback({{.*}}) {{.*}} : (tensor<i32>, tensor<f32>) -> tensor<i32>
// CHECK: hlo.case
// CHECK: hlo.custom_call @hlo.python_callback({{.*}}) {{.*}} : (tensor<i32>, tensor<i32>) -> tensor<i32>
func.func @main(%t: !hlo.token, %x: tensor<f32>, %i: tensor<i32>) -> (!hlo.token, tensor<f32>) {
  %0:2 = "hlo.while"(%t, %x) ({
  ^bb0(%a: !hlo.token, %b: tensor<f32>):
    %c = "hlo.compare"(%b, %x) {comparison_direction = #hlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: !hlo.token, %b: tensor<f32>):
    %d = "hlo.custom_call"(%a, %b) {call_target_name = "hlo.python_callback", has_side_effect = true, mhlo.backend_config = {callback = 1 : i64}} : (!hlo.token, tensor<f32>) -> !hlo.token
    "hlo.return"(%d, %b) : (!hlo.token, tensor<f32>) -> ()
  }) : (!hlo.token, tensor<f32>) -> (!hlo.token, tensor<f32>)
  %1 = "hlo.case"(%i) ({
    "hlo.return"(%0#0) : (!hlo.token) -> ()
  }, {
    %3 = "hlo.create_token"() : () -> !hlo.token
    %4 = "hlo.after_all"(%0#0, %3) : (!hlo.token, !hlo.token) -> !hlo.token
    %5 = "hlo.custom_call"(%4, %i) {call_target_name = "hlo.python_callback", has_side_effect = true, mhlo.backend_config = {callback = 2 : i64}} : (!hlo.token, tensor<i32>) -> !hlo.token
    "hlo.return"(%5) : (!hlo.token) -> ()
  }) : (tensor<i32>) -> !hlo.token
  return %1, %0#1 : !hlo.token, tensor<f32>
}

// A branch that has effects alone gets a result.
// BRANCH-LABEL: func.func private @branches
// BRANCH: %{{.*}} = "hlo.if"
// BRANCH: hlo.custom_call @hlo.python_callback
// BRANCH: hlo.return %{{.*}} : tensor<i32>
func.func private @branches(%p: tensor<i1>, %x: tensor<f32>) {
  "hlo.if"(%p) ({
    %0 = "hlo.custom_call"(%x) {call_target_name = "hlo.python_callback", has_side_effect = true, mhlo.backend_config = {callback = 3 : i64}} : (tensor<f32>) -> tensor<i32>
    "hlo.return"() : () -> ()
  }, {
    "hlo.return"() : () -> ()
  }) : (tensor<i1>) -> ()
  return
}
