// An asynchronous op is done where it starts.
// RUN: hlo-opt --expand-async %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: async
// CHECK: hlo.collective_permute
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "hlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    hlo.return %1 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !hlo.future<tensor<4xf32>>
  %2 = "hlo.async_done"(%0) : (!hlo.future<tensor<4xf32>>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
