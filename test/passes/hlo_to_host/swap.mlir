// Carries that swap need one buffer more, and three copies an iteration: all at once, or one
// would read what another has overwritten.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>, %{{.*}}: memref<1xi32>, %[[A:[^:]*]]: memref<8xf32>, %[[B:[^:]*]]: memref<8xf32>,
// CHECK: memref.copy %[[X]], %[[A]]
// CHECK-NEXT: memref.copy %[[Y]], %[[B]]
// CHECK: } do {
// CHECK: %[[SAVED:.*]] = memref.alloc() {hlo.name = "swap"} : memref<8xf32>
// CHECK: memref.copy {{.*}}, %[[SAVED]]
// CHECK: memref.copy {{.*}}%[[A]]
// CHECK: memref.copy {{.*}}%[[B]]
// CHECK: scf.yield
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:3 = "hlo.while"(%zero, %x, %y) ({
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>, %b: tensor<8xf32>):
    %c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<8xf32>, %b: tensor<8xf32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "hlo.return"(%j, %b, %a) : (tensor<i32>, tensor<8xf32>, tensor<8xf32>) -> ()
  }) : (tensor<i32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>, tensor<8xf32>)
  return %0#1, %0#2 : tensor<8xf32>, tensor<8xf32>
}
