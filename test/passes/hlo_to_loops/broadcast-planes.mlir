// A value for each position of a plane, spread over the features between it and the batch: positions
// are one range of 3136 = 56 * 56, and so vectors of neighbours are loaded, not each element.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK: func.func @exponential_subtract_fusion_0
// CHECK-NOT: arith.constant 56 : index
// CHECK: vector.load %in1{{.*}} : memref<12544xf32>
// CHECK-NOT: arith.constant 56 : index
// CHECK: return
module {
  func.func public @main(%x: tensor<4x64x56x56xf32>, %m: tensor<4x56x56xf32>) -> tensor<4x64x56x56xf32> {
    %0 = hlo.broadcast_in_dim %m, dims = [0, 2, 3] : (tensor<4x56x56xf32>) -> tensor<4x64x56x56xf32>
    %1 = hlo.exponential %x : tensor<4x64x56x56xf32>
    %2 = hlo.subtract %1, %0 : tensor<4x64x56x56xf32>
    return %2 : tensor<4x64x56x56xf32>
  }
}
