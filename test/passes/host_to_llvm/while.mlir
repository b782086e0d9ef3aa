// The host program is native: loops are branches, kernels are inlined, called or spread over
// threads, buffers are the arena plus an offset.
// RUN: hlo-opt --compile-to=llvm --disable-pass=fuse-horizontally %s | FileCheck %s

// CHECK: llvm.func @hlo_rt_parallel_for
// CHECK: llvm.func @hlo_main(%[[FRAME:.*]]: !llvm.ptr) -> i32
// Arguments at byte 8 of the frame, results at 16, the arena at 24 (runtime/kernel_abi.h).
// CHECK-DAG: llvm.getelementptr %[[FRAME]][8] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: llvm.getelementptr %[[FRAME]][16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: llvm.getelementptr %[[FRAME]][24] : (!llvm.ptr) -> !llvm.ptr, i8
// 512 x 4 bytes are copied.
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(2048 : i64)
// CHECK: "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %[[BYTES]])
// CHECK: llvm.br ^[[HEAD:bb[0-9]+]]
// CHECK: ^[[HEAD]]:
// CHECK: llvm.call @compare_0__inlined
// CHECK: llvm.cond_br %{{.*}}, ^[[BODY:bb[0-9]+]], ^[[EXIT:bb[0-9]+]]
// CHECK: ^[[BODY]]:
// CHECK: llvm.call @sine_2__packed
// CHECK: llvm.br ^[[HEAD]]
// CHECK: ^[[EXIT]]:
// CHECK: llvm.return
func.func @main(%x: tensor<512xf32>, %n: tensor<i32>) -> tensor<512xf32> {
  %zero = "hlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:2 = "hlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<512xf32>):
    %c = "hlo.compare"(%i, %n) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<512xf32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %j = "hlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %b = "hlo.sine"(%a) : (tensor<512xf32>) -> tensor<512xf32>
    "hlo.return"(%j, %b) : (tensor<i32>, tensor<512xf32>) -> ()
  }) : (tensor<i32>, tensor<512xf32>) -> (tensor<i32>, tensor<512xf32>)
  %1 = "hlo.reverse"(%0#1) {dimensions = array<i64: 0>} : (tensor<512xf32>) -> tensor<512xf32>
  return %1 : tensor<512xf32>
}
