// The ops of a loop's body move only where the most live bytes of the function are in the loop.
// RUN: hlo-opt --schedule %s | FileCheck %s

// In the body both products of 1024 x 512 x 4 bytes live at once: 4 MiB, and 2 MiB in another order.
// CHECK-LABEL: func.func @main
// CHECK: do {
// CHECK: %[[A:.*]] = hlo.dot_general
// CHECK-NEXT: %[[AA:.*]] = hlo.dot_general %[[A]]
// CHECK-NEXT: %[[B:.*]] = hlo.dot_general
// CHECK-NEXT: %[[BB:.*]] = hlo.dot_general %[[B]]

// 1024 x 2048 x 4 = 8 MiB live ahead of the loop, whatever it needs.
// CHECK-LABEL: func.func @high_elsewhere
// CHECK: do {
// CHECK: %[[A:.*]] = hlo.dot_general
// CHECK-NEXT: %[[B:.*]] = hlo.dot_general
// CHECK-NEXT: %[[AA:.*]] = hlo.dot_general %[[A]]
// CHECK-NEXT: %[[BB:.*]] = hlo.dot_general %[[B]]

func.func @main(%x: tensor<1024x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x64xf32>, %n: tensor<i32>) -> tensor<1024x64xf32> {
  %one = hlo.constant dense<1> : tensor<i32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %loop:2 = hlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<1024x64xf32>
   cond {
    %less = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  } do {
    %a = hlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
    %b = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
    %aa = hlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x64xf32>) -> tensor<1024x64xf32>
    %bb = hlo.dot_general %b, %v, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x64xf32>) -> tensor<1024x64xf32>
    %sum = hlo.add %aa, %bb : tensor<1024x64xf32>
    %next = hlo.add %i, %one : tensor<i32>
    hlo.return %next, %sum : tensor<i32>, tensor<1024x64xf32>
  }
  return %loop#1 : tensor<1024x64xf32>
}

func.func @high_elsewhere(%x: tensor<1024x64xf32>, %w: tensor<64x512xf32>, %v: tensor<512x64xf32>, %n: tensor<i32>, %u: tensor<64x2048xf32>, %t: tensor<2048x64xf32>) -> tensor<1024x64xf32> {
  %one = hlo.constant dense<1> : tensor<i32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %large = hlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x2048xf32>) -> tensor<1024x2048xf32>
  %y = hlo.dot_general %large, %t, contracting_dims = [1] x [0] : (tensor<1024x2048xf32>, tensor<2048x64xf32>) -> tensor<1024x64xf32>
  %loop:2 = hlo.while(%i = %zero, %c = %y) : tensor<i32>, tensor<1024x64xf32>
   cond {
    %less = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  } do {
    %a = hlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
    %b = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
    %aa = hlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x64xf32>) -> tensor<1024x64xf32>
    %bb = hlo.dot_general %b, %v, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x64xf32>) -> tensor<1024x64xf32>
    %sum = hlo.add %aa, %bb : tensor<1024x64xf32>
    %next = hlo.add %i, %one : tensor<i32>
    hlo.return %next, %sum : tensor<i32>, tensor<1024x64xf32>
  }
  return %loop#1 : tensor<1024x64xf32>
}
