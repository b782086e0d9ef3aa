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

// %late waits for the sort, and is written first; the other reader of the scalar frees 4 MiB before that. Both in one launch would
// keep them until then.
// CHECK-LABEL: func.func private @two_readers
// CHECK-NOT: kind = "steps"
// CHECK: return
func.func private @two_readers(%k: tensor<524288xf32>, %x: tensor<512x1024xf32>, %t: tensor<f32>) -> (tensor<524288xf32>, tensor<512x1024xf32>, tensor<f32>) {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %b = hlo.constant dense<0.9> : tensor<f32>
  %n = hlo.add %t, %one : tensor<f32>
  %p = hlo.power %b, %n : tensor<f32>
  %s = hlo.subtract %one, %p : tensor<f32>
  %early = hlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %used = hlo.dot_general %x, %early, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
  %sorted = "hlo.sort"(%k) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %less = hlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  }) : (tensor<524288xf32>) -> tensor<524288xf32>
  %w = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<524288xf32>
  %late = hlo.divide %sorted, %w : tensor<524288xf32>
  %v = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<512x1024xf32>
  %other = hlo.divide %used, %v : tensor<512x1024xf32>
  return %late, %other, %n : tensor<524288xf32>, tensor<512x1024xf32>, tensor<f32>
}
