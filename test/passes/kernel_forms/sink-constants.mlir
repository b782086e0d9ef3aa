// A constant of one value that a loop's body reads is made in it, at any depth; what is carried, or has
// several values, stays outside.
// RUN: hlo-opt --sink-constants %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[ZERO:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK: %[[TABLE:.*]] = hlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NOT: hlo.constant
// CHECK: hlo.while(%{{.*}} = %[[ZERO]], %{{.*}} = %[[TABLE]])
// CHECK: cond {
// CHECK: %[[END:.*]] = hlo.constant dense<5> : tensor<i32>
// CHECK: hlo.compare LT, %{{.*}}, %[[END]]
// CHECK: do {
// CHECK-DAG: %[[ONE:.*]] = hlo.constant dense<1> : tensor<i32>
// CHECK-DAG: %[[START:.*]] = hlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: hlo.reduce(%{{.*}} init: %[[START]])
// CHECK: hlo.if
// CHECK: %[[INNER:.*]] = hlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: hlo.maximum %{{.*}}, %[[INNER]]
// CHECK: hlo.multiply %{{.*}}, %[[TABLE]]
// CHECK: hlo.add %{{.*}}, %[[ONE]]
func.func @main(%p: tensor<i1>) -> tensor<2xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<5> : tensor<i32>
  %start = hlo.constant dense<0.0> : tensor<f32>
  %table = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0:2 = hlo.while(%n = %zero, %c = %table) : tensor<i32>, tensor<2xf32>
    cond {
      %1 = hlo.compare LT, %n, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reduce(%c init: %start) applies hlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
      %2 = "hlo.if"(%p) ({
        %6 = hlo.maximum %1, %start : tensor<f32>
        "hlo.return"(%6) : (tensor<f32>) -> ()
      }, {
        "hlo.return"(%1) : (tensor<f32>) -> ()
      }) : (tensor<i1>) -> tensor<f32>
      %3 = hlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %4 = hlo.multiply %3, %table : tensor<2xf32>
      %5 = hlo.add %n, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<2xf32>
    }
  return %0#1 : tensor<2xf32>
}
