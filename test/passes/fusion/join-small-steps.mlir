// The scalar that an update reads is computed ahead of it, in the same launch: a head of one unit.
// RUN: hlo-opt --fuse --join-small-steps %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @main
// CHECK: "hlo.fusion"({{.*}}) <{kind = "steps"
// CHECK: %[[S:.*]]:2 = "hlo.fusion"({{.*}}) <{kind = "loop"
// CHECK: hlo.power
// CHECK: "hlo.fusion"({{.*}}%[[S]]#{{[01]}}
// CHECK: hlo.divide

// HOST: hlo.head = 1 : i64
// HOST: func.func @main
// HOST: call @
// HOST-NEXT: return

// A reader that is no member leaves the scalar a kernel of its own.
// CHECK-LABEL: func.func private @sorted
// CHECK: hlo.negate
// CHECK-NOT: kind = "steps"
// CHECK: return
func.func @main(%x: tensor<65536xf32>, %t: tensor<f32>) -> (tensor<65536xf32>, tensor<f32>, tensor<f32>) {
  %b = hlo.constant dense<0.9> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %n = hlo.add %t, %one : tensor<f32>
  %p = hlo.power %b, %n : tensor<f32>
  %s = hlo.subtract %one, %p : tensor<f32>
  %w = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<65536xf32>
  %0 = hlo.divide %x, %w : tensor<65536xf32>
  return %0, %n, %s : tensor<65536xf32>, tensor<f32>, tensor<f32>
}
func.func private @sorted(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.negate %x : tensor<8xf32>
  %s = "hlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}
