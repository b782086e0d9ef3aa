// An elementwise kernel is one loop of whole vectors and a masked rest, whatever the dimensions.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// 3 x 37 = 111 = 6 x 16 + 15.
// CHECK-LABEL: func.func @add_0(
// CHECK-SAME: %[[X:.*]]: memref<111xf32>, %[[Y:.*]]: memref<111xf32>, %[[OUT:.*]]: memref<111xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[WHOLE:.*]] = arith.constant 96 : index
// CHECK-DAG: %[[LANES:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<[{{((true, ){15})}}false]> : vector<16xi1>
// One work unit: nothing is done if the range holds none.
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]] : index
// CHECK: scf.if %[[ANY]] {
// CHECK: scf.for %[[I:.*]] = %[[ZERO]] to %[[WHOLE]] step %[[LANES]] {
// CHECK-NEXT: %[[A:.*]] = vector.load %[[X]][%[[I]]]
// CHECK-NEXT: %[[B:.*]] = vector.load %[[Y]][%[[I]]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : vector<16xf32>
// CHECK-NEXT: vector.store %[[SUM]], %[[OUT]][%[[I]]]
// CHECK-NEXT: }
// CHECK: vector.maskedload %[[X]][{{.*}}], %[[MASK]]
// CHECK: vector.maskedload %[[Y]][{{.*}}], %[[MASK]]
// CHECK: vector.maskedstore %[[OUT]][{{.*}}], %[[MASK]]
func.func @main(%x: tensor<3x37xf32>, %y: tensor<3x37xf32>) -> tensor<3x37xf32> {
  %0 = "hlo.add"(%x, %y) : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>
  return %0 : tensor<3x37xf32>
}
