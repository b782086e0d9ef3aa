// With one process a collective gives its operand; a process that gets nothing has zeros.
// RUN: hlo-opt --expand-collectives %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: %[[ZERO:.*]] = hlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[ID:.*]] = hlo.constant dense<0> : tensor<ui32>
// CHECK: return %arg0, %[[ZERO]], %[[ID]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<ui32>) {
  %0 = "hlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "hlo.collective_permute"(%x) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "hlo.partition_id"() : () -> tensor<ui32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<ui32>
}
