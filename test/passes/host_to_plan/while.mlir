// A loop is a step that asks a byte of device memory.
// RUN: hlo-opt --target=nvptx:sm_80 %s | FileCheck %s

// CHECK: copy argument 0[0:4] to result 0[0:4]
// CHECK-NEXT: loop while arena[0:1] after
// CHECK-NEXT: launch compare_0 grid=1x1x1 block=32x1x1 (result 0[0:4], arena[0:1])
// CHECK-NEXT: do
// CHECK-NEXT: launch add_1 grid=1x1x1 block=32x1x1 (result 0[0:4], result 0[0:4])
// CHECK-NEXT: end

func.func @main(%i: tensor<i32>) -> tensor<i32> {
  %0 = "hlo.while"(%i) ({
  ^bb0(%a: tensor<i32>):
    %limit = "hlo.constant"() {value = dense<10> : tensor<i32>} : () -> tensor<i32>
    %r = "hlo.compare"(%a, %limit) {comparison_direction = #hlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%r) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i32>):
    %one = "hlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %r = "hlo.add"(%a, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "hlo.return"(%r) : (tensor<i32>) -> ()
  }) : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
