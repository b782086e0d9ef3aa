// A loop's carries are computed in place, and in the result's own memory where they end there.
// RUN: hlo-opt --compile-to=host --disable-pass=fuse-horizontally %s | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: memref<64xf32>, %[[N:.*]]: memref<1xi32>, %[[RESULT:[^:]*]]: memref<64xf32>, %[[ZERO:.*]]: memref<1xi32>)
// CHECK-NEXT: %[[I:.*]] = memref.alloc() {hlo.name = "while carry 0"} : memref<1xi32>
// The argument and the constant are not the program's to write to: each is copied once.
// CHECK-NEXT: memref.copy %[[ZERO]], %[[I]] {hlo.reason = "an argument, a constant or a value from outside is passed on"}
// CHECK-NEXT: memref.copy %[[X]], %[[RESULT]]
// CHECK-NEXT: scf.while
// CHECK: func.call @compare_0(%[[I]], %[[N]], %[[FLAG:[a-z0-9_]*]]) {hlo.launch = 0 : i64} :
// CHECK: memref.load %[[FLAG]]
// CHECK: scf.condition
// CHECK: } do {
// CHECK-NEXT: func.call @add_1(%[[I]], %[[I]])
// CHECK-NEXT: func.call @sine_2(%[[RESULT]], %[[RESULT]])
// CHECK-NEXT: scf.yield
// CHECK-NOT: memref.copy
// CHECK: return
func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<64xf32> {
  %zero = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:2 = "hlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<64xf32>):
    %c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<64xf32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %b = "hlo.sine"(%a) : (tensor<64xf32>) -> tensor<64xf32>
    "hlo.return"(%j, %b) : (tensor<i32>, tensor<64xf32>) -> ()
  }) : (tensor<i32>, tensor<64xf32>) -> (tensor<i32>, tensor<64xf32>)
  return %0#1 : tensor<64xf32>
}
