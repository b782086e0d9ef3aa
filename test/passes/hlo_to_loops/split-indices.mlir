// A group of columns has one mean: which group it is follows from the loops over rows and groups,
// not from the lane, so that the loop over a group's columns is vectors.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @subtract_reshape_fusion_0(
// CHECK: %[[MEAN:.*]] = memref.load %in1
// CHECK: %[[X:.*]] = vector.load %in0
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[MEAN]] : f32 to vector<16xf32>
// CHECK: arith.subf %[[X]], %[[SPLAT]] : vector<16xf32>
// CHECK: vector.store
func.func @main(%x: tensor<4x6x6x128xf32>, %mean: tensor<4x8xf32>) -> tensor<4x6x6x128xf32> {
  %0 = hlo.reshape %x : (tensor<4x6x6x128xf32>) -> tensor<4x6x6x8x16xf32>
  %1 = hlo.broadcast_in_dim %mean, dims = [0, 3] : (tensor<4x8xf32>) -> tensor<4x6x6x8x16xf32>
  %2 = hlo.subtract %0, %1 : tensor<4x6x6x8x16xf32>
  %3 = hlo.reshape %2 : (tensor<4x6x6x8x16xf32>) -> tensor<4x6x6x128xf32>
  return %3 : tensor<4x6x6x128xf32>
}
