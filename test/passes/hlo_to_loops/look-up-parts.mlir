// Bytes are looked up in words of 32 bits that begin where they do, but for the last ones: theirs is the last word of the
// table, 61 = 65 - 4 bytes behind its begin, and is shifted.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @gather_0(
// CHECK-DAG: %[[LAST:.*]] = arith.constant dense<61> : vector<16xi32>
// CHECK: %[[START:.*]] = arith.minsi %[[AT:.*]], %[[LAST]] : vector<16xi32>
// CHECK: %[[POINTERS:.*]] = llvm.getelementptr %{{.*}}[%[[START]]]
// CHECK: %[[WORD:.*]] = llvm.intr.masked.gather %[[POINTERS]]
// CHECK: %[[BEHIND:.*]] = arith.subi %[[AT]], %[[START]]
// CHECK: %[[BITS:.*]] = arith.shli %[[BEHIND]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[WORD]], %[[BITS]]
// CHECK: arith.trunci %[[SHIFTED]] : vector<16xi32> to vector<16xi8>
func.func @main(%table: tensor<65xui8>, %i: tensor<1000x1xi32>) -> tensor<1000xui8> {
  %0 = "hlo.gather"(%table, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<65xui8>, tensor<1000x1xi32>) -> tensor<1000xui8>
  return %0 : tensor<1000xui8>
}
