// A dot is register tiles: rows x vectors of accumulators, one pass over the contracted space,
// and what follows it element by element before the tile is stored.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 4 rows x 40 columns: 40 = 2 x 16 + 8 is three vectors, the last one masked: 4 x 3 = 12
// accumulators. A step loads 4 scalars and 3 vectors for 12 fused multiply-adds.
// CHECK-LABEL: func.func @dot_general_add_fusion_0(
// CHECK: %[[MASK:.*]] = arith.constant dense<[{{((true, ){8}(false, ){7})}}false]> : vector<16xi1>
// CHECK: %[[TILE:.*]]:12 = scf.for
// CHECK-COUNT-12: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// The bias of a column is loaded once for its four rows.
// CHECK: %[[BIAS:.*]] = vector.load %in2
// CHECK-NEXT: arith.addf %[[TILE]]#0, %[[BIAS]]
// CHECK-NEXT: vector.store
// CHECK: vector.maskedload %in2[{{.*}}], %[[MASK]]
// CHECK: arith.addf %[[TILE]]#3, %[[BIAS]]
// CHECK-NOT: vector.load %in2
// CHECK: return
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x40xf32>, %c: tensor<40xf32>) -> tensor<4x40xf32> {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x8xf32>, tensor<8x40xf32>) -> tensor<4x40xf32>
  %w = "hlo.broadcast_in_dim"(%c) {broadcast_dimensions = array<i64: 1>} : (tensor<40xf32>) -> tensor<4x40xf32>
  %1 = "hlo.add"(%0, %w) : (tensor<4x40xf32>, tensor<4x40xf32>) -> tensor<4x40xf32>
  return %1 : tensor<4x40xf32>
}
