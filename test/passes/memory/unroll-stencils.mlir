// A carry whose next value is computed beside it takes turns with another buffer, and is not copied.
// RUN: hlo-opt --analyze-trip-counts --unroll-rotations %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @main
// CHECK: hlo.while({{.*}}) {{.*}} attributes {hlo.trip_count = 20 : i64}
// CHECK: } do {
// CHECK-COUNT-2: hlo.reverse
// What is computed in place is left as it is.
// CHECK: hlo.while({{.*}}) {{.*}} attributes {hlo.trip_count = 40 : i64}
// CHECK: } do {
// CHECK: hlo.negate
// CHECK-NOT: hlo.negate

// HOST: } do {
// HOST-NOT: memref.copy
// HOST: scf.yield

func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<64x64xf32>
   cond {
    %n = hlo.constant dense<40> : tensor<i32>
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i, %one : tensor<i32>
    %r = hlo.reverse %a, dims = [0] : tensor<64x64xf32>
    hlo.return %next, %r : tensor<i32>, tensor<64x64xf32>
  }
  %1:2 = hlo.while(%i = %zero, %a = %0#1) : tensor<i32>, tensor<64x64xf32>
   cond {
    %n = hlo.constant dense<40> : tensor<i32>
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i, %one : tensor<i32>
    %r = hlo.negate %a : tensor<64x64xf32>
    hlo.return %next, %r : tensor<i32>, tensor<64x64xf32>
  }
  return %1#1 : tensor<64x64xf32>
}
