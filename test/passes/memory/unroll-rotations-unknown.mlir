// Carries that take turns in a loop of unknown trip count: the second iteration runs if the condition
// holds then, else the carries change places once.
// RUN: hlo-opt --unroll-rotations %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK: hlo.while(%[[I:.*]] = %{{.*}}, %[[A:.*]] = %arg0, %[[B:.*]] = %arg1)
// CHECK: do {
// CHECK: %[[N:.*]] = hlo.add %[[I]],
// CHECK: %[[R:.*]] = hlo.reverse %[[B]]
// CHECK: %[[C:.*]] = hlo.subtract %[[R]], %[[A]]
// CHECK: %[[ON:.*]] = hlo.compare LT, %[[N]], %arg2
// CHECK: %[[IF:.*]]:3 = "hlo.if"(%[[ON]])
// CHECK: %[[S:.*]] = hlo.reverse %[[C]]
// CHECK: %[[D:.*]] = hlo.subtract %[[S]], %[[B]]
// CHECK: hlo.return %{{.*}}, %[[C]], %[[D]]
// CHECK: hlo.return %[[N]], %[[B]], %[[C]]
// CHECK: hlo.return %[[IF]]#0, %[[IF]]#1, %[[IF]]#2

// HOST: } do {
// HOST-NOT: memref.copy
// HOST: } else {
// HOST-COUNT-3: memref.copy
// HOST-NOT: memref.copy
// HOST: scf.yield

func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %n: tensor<i32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
   cond {
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i, %one : tensor<i32>
    %r = hlo.reverse %b, dims = [0] : tensor<64x64xf32>
    %c = hlo.subtract %r, %a : tensor<64x64xf32>
    hlo.return %next, %b, %c : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %0#1, %0#2 : tensor<64x64xf32>, tensor<64x64xf32>
}
