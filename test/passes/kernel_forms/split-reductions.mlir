// Long reductions to few elements become partial ones side by side: each that qualifies.
// RUN: hlo-opt --split-reductions %s | FileCheck %s
// RUN: hlo-opt --split-reductions='pieces=8 smallest=100' %s | FileCheck %s --check-prefix=EIGHT
// RUN: hlo-opt --split-reductions='pieces=512 partials=4096' %s | FileCheck %s --check-prefix=PARTIALS

// 1048576 = 128 x 8192, and 65536 = 128 x 512. A maximum may take its initial value many times.
// CHECK-LABEL: func.func @main
// CHECK: hlo.reshape %arg0 : (tensor<1048576xf32>) -> tensor<128x8192xf32>
// CHECK: hlo.reduce({{.*}}dimensions = [1] {hlo.partial} : (tensor<128x8192xf32>, tensor<f32>) -> tensor<128xf32>
// CHECK: hlo.reduce({{.*}}dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
// CHECK: hlo.reshape %arg1 : (tensor<65536x16xi32>) -> tensor<128x512x16xi32>
// CHECK: hlo.reduce({{.*}} applies hlo.maximum across dimensions = [1]
// CHECK: hlo.reduce({{.*}} applies hlo.maximum across dimensions = [0]
// A thousand elements are not worth it by default: 1000 < 2^17. Pieces of 8: 1000 = 8 x 125.
// CHECK-NOT: hlo.reshape %arg2
// EIGHT: hlo.reshape %arg0 : (tensor<1048576xf32>) -> tensor<8x131072xf32>
// EIGHT: hlo.reshape %arg2 : (tensor<1000xf32>) -> tensor<8x125xf32>

// Of 16 results 256 pieces are 4096 partial results.
// PARTIALS: hlo.reshape %arg0 : (tensor<1048576xf32>) -> tensor<512x2048xf32>
// PARTIALS: hlo.reshape %arg1 : (tensor<65536x16xi32>) -> tensor<256x256x16xi32>

// A sum that starts at 1 must not add it in every piece.
// CHECK-LABEL: func.func @start
// CHECK-NOT: hlo.reshape
func.func @main(%x: tensor<1048576xf32>, %y: tensor<65536x16xi32>, %z: tensor<1000xf32>) -> (tensor<f32>, tensor<16xi32>, tensor<f32>) {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %i = "hlo.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %1 = hlo.reduce(%y init: %i) applies hlo.maximum across dimensions = [0] : (tensor<65536x16xi32>, tensor<i32>) -> tensor<16xi32>
  %2 = hlo.reduce(%z init: %c) applies hlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<16xi32>, tensor<f32>
}
func.func @start(%x: tensor<1048576xf32>) -> tensor<f32> {
  %c = "hlo.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// In the body of a loop, which reads what is around it.
// CHECK-LABEL: func.func @loop
// CHECK: hlo.while
// CHECK: hlo.reshape {{.*}} -> tensor<128x8192xf32>
// CHECK: hlo.reduce({{.*}} -> tensor<128xf32>
func.func @loop(%x: tensor<1048576xf32>, %n: tensor<i32>) -> tensor<1048576xf32> {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %0:2 = "hlo.while"(%x, %n) ({
  ^bb0(%y: tensor<1048576xf32>, %i: tensor<i32>):
    %more = "hlo.compare"(%i, %one) {comparison_direction = #hlo<comparison_direction GT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%y: tensor<1048576xf32>, %i: tensor<i32>):
    %s = hlo.reduce(%y init: %c) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    %b = "hlo.broadcast_in_dim"(%s) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<1048576xf32>
    %z = "hlo.add"(%x, %b) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    %j = "hlo.subtract"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "hlo.return"(%z, %j) : (tensor<1048576xf32>, tensor<i32>) -> ()
  }) : (tensor<1048576xf32>, tensor<i32>) -> (tensor<1048576xf32>, tensor<i32>)
  return %0#0 : tensor<1048576xf32>
}
// 16384 sines are as much work as 131072 sums; what something else reads is not computed in the reduction's kernel.
// CHECK-LABEL: func.func @dear
// CHECK: hlo.reshape {{.*}} -> tensor<128x128xf32>
// CHECK: hlo.reduce({{.*}} -> tensor<128xf32>
// CHECK: hlo.reduce({{.*}} -> tensor<f32>
// CHECK-NOT: hlo.reshape
// CHECK: return
func.func @dear(%x: tensor<16384xf32>, %y: tensor<16384xf32>) -> (tensor<f32>, tensor<f32>, tensor<16384xf32>, tensor<f32>) {
  %c = "hlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = hlo.sine %x : tensor<16384xf32>
  %p = hlo.multiply %s, %y : tensor<16384xf32>
  %0 = hlo.reduce(%p init: %c) applies hlo.add across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
  %e = hlo.exponential %y : tensor<16384xf32>
  %1 = hlo.reduce(%e init: %c) applies hlo.add across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
  %m = hlo.multiply %x, %y : tensor<16384xf32>
  %2 = hlo.reduce(%m init: %c) applies hlo.add across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %e, %2 : tensor<f32>, tensor<f32>, tensor<16384xf32>, tensor<f32>
}
