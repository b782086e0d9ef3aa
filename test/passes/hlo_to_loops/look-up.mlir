// Each lane looks up an element of its own: positions are clamped as a vector, and gathered.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @gather_0(
// CHECK: %[[INDEX:.*]] = vector.load %in1
// CHECK: %[[LOW:.*]] = arith.maxsi %[[INDEX]]
// CHECK: %[[AT:.*]] = arith.minsi %[[LOW]]
// CHECK: vector.gather %in0[%{{.*}}] [%[[AT]]]
func.func @main(%table: tensor<65xf32>, %i: tensor<1000x1xi32>) -> tensor<1000xf32> {
  %0 = "hlo.gather"(%table, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<65xf32>, tensor<1000x1xi32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
