// Carries that take turns: two iterations become one, and no buffer is copied.
// RUN: hlo-opt --analyze-trip-counts --unroll-rotations %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// Of 21 iterations one runs ahead; 10 pairs are left.
// CHECK: %[[C:.*]] = hlo.subtract
// CHECK: hlo.while(%[[I:.*]] = %{{.*}}, %[[A:.*]] = %arg1, %[[B:.*]] = %{{.*}}) : {{.*}} attributes {hlo.trip_count = 10 : i64}
// CHECK: %[[R:.*]] = hlo.reverse %[[B]]
// CHECK: %[[D:.*]] = hlo.subtract %[[R]], %[[A]]
// CHECK: %[[S:.*]] = hlo.reverse %[[D]]
// CHECK: %[[E:.*]] = hlo.subtract %[[S]], %[[B]]
// CHECK: hlo.return %{{.*}}, %[[D]], %[[E]]

// HOST: } do {
// HOST-NOT: memref.copy
// HOST: scf.yield

func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
   cond {
    %n = hlo.constant dense<21> : tensor<i32>
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
