// Small kernels of loops are functions that are inlined, and buffers that nothing else touches lie
// on the stack: the carry %a, the counter and the predicate, a result, a small constant and a small
// argument. What is larger than 1024 bytes stays in memory.
// RUN: hlo-opt --compile-to=llvm %s | FileCheck %s

// CHECK-DAG: llvm.mlir.global private constant @content_0("\00\00\00?\00\00\80>\00\00\00@\00\00\80?") {{{.*}}alignment = 64 : i64}
// CHECK-DAG: llvm.func internal @[[COMPARE:compare_[0-9]+__inlined]](%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) attributes {always_inline}
// CHECK: llvm.func @hlo_main(
// The result's place is filled by the loop and copied back at the end: 4 x 4 bytes.
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(16 : i64)
// CHECK-DAG: llvm.alloca %[[BYTES]] x i8 {alignment = 64 : i64}
// CHECK-DAG: %[[CONTENT:.*]] = llvm.mlir.addressof @content_0
// CHECK-DAG: "llvm.intr.memcpy"(%{{.*}}, %[[CONTENT]],
// CHECK: ^bb1:
// CHECK-NOT: llvm.store
// CHECK: llvm.call @[[COMPARE]](%{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK: llvm.cond_br
// CHECK: llvm.call @add_{{[0-9]+}}__inlined(
// CHECK: llvm.call @multiply_{{.*}}__inlined(%[[RESULT:.*]], %{{.*}}, %{{.*}}, %[[RESULT]])
// CHECK: llvm.call @dynamic_update_slice_{{.*}}__inlined(
// CHECK: llvm.br ^bb1
// CHECK: "llvm.intr.memcpy"(%{{.*}}, %[[RESULT]], %[[BYTES]])
// CHECK: llvm.return
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %all: tensor<300x4xf32>) -> (tensor<4xf32>, tensor<300x4xf32>) {
  %zero = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:3 = "hlo.while"(%zero, %x, %all) ({
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %s: tensor<300x4xf32>):
    %n = "hlo.constant"() {value = dense<300> : tensor<i32>} : () -> tensor<i32>
    %c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %s: tensor<300x4xf32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %w = "hlo.constant"() {value = dense<[0.5, 0.25, 2.0, 1.0]> : tensor<4xf32>} : () -> tensor<4xf32>
    %ay = "hlo.multiply"(%a, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = "hlo.multiply"(%ay, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %k = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %row = "hlo.reshape"(%b) : (tensor<4xf32>) -> tensor<1x4xf32>
    %t = "hlo.dynamic_update_slice"(%s, %row, %i, %k) : (tensor<300x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<300x4xf32>
    "hlo.return"(%j, %b, %t) : (tensor<i32>, tensor<4xf32>, tensor<300x4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>, tensor<300x4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<300x4xf32>)
  return %0#1, %0#2 : tensor<4xf32>, tensor<300x4xf32>
}
