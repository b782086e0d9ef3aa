// Kernels that read different parts of a tensor, or update it at different constant places, are one
// kernel, given the address of its part and the place.
// RUN: hlo-opt --share-kernels %s | FileCheck %s

// Only the first start differs: the other one stays a constant of the kernel.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = hlo.slice %arg0 [0:1, 0:64]
// CHECK-NEXT: %[[A:.*]] = "hlo.fusion"(%[[P]])
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<1x64xf32>):
// CHECK-NEXT: hlo.reshape %[[X]]
// CHECK: %[[Q:.*]] = hlo.slice %arg0 [2:3, 0:64]
// CHECK-NEXT: %[[B:.*]] = "hlo.fusion"(%[[Q]])
// CHECK: %[[ZERO:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK: %[[C:.*]] = "hlo.fusion"(%[[A]], %arg0, %[[ZERO]])
// CHECK-NEXT: ^bb0(%[[U:.*]]: tensor<64xf32>, %[[T:.*]]: tensor<4x64xf32>, %[[S:.*]]: tensor<i32>):
// CHECK: %[[I:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK: hlo.dynamic_update_slice %[[T]], %{{.*}}, %[[S]], %[[I]]
// CHECK: %[[TWO:.*]] = hlo.constant dense<2> : tensor<i32>
// CHECK: "hlo.fusion"(%[[B]], %[[C]], %[[TWO]])

// Nothing else reads from the third element on: its kernel is its own.
// CHECK: "hlo.fusion"(%arg1)
// CHECK: hlo.slice %{{.*}} [4:68]
func.func @main(%w: tensor<4x64xf32>, %v: tensor<68xf32>) -> (tensor<4x64xf32>, tensor<64xf32>) {
  %0 = "hlo.fusion"(%w) <{kind = "loop", name = "a"}> ({
  ^bb0(%x: tensor<4x64xf32>):
    %1 = hlo.slice %x [0:1, 0:64] : (tensor<4x64xf32>) -> tensor<1x64xf32>
    %2 = hlo.reshape %1 : (tensor<1x64xf32>) -> tensor<64xf32>
    %3 = hlo.negate %2 : tensor<64xf32>
    hlo.return %3 : tensor<64xf32>
  }) : (tensor<4x64xf32>) -> tensor<64xf32>
  %4 = "hlo.fusion"(%w) <{kind = "loop", name = "a"}> ({
  ^bb0(%x: tensor<4x64xf32>):
    %1 = hlo.slice %x [2:3, 0:64] : (tensor<4x64xf32>) -> tensor<1x64xf32>
    %2 = hlo.reshape %1 : (tensor<1x64xf32>) -> tensor<64xf32>
    %3 = hlo.negate %2 : tensor<64xf32>
    hlo.return %3 : tensor<64xf32>
  }) : (tensor<4x64xf32>) -> tensor<64xf32>
  %5 = "hlo.fusion"(%0, %w) <{kind = "loop", name = "u"}> ({
  ^bb0(%u: tensor<64xf32>, %x: tensor<4x64xf32>):
    %row = hlo.constant dense<0> : tensor<i32>
    %zero = hlo.constant dense<0> : tensor<i32>
    %1 = hlo.abs %u : tensor<64xf32>
    %2 = hlo.reshape %1 : (tensor<64xf32>) -> tensor<1x64xf32>
    %3 = hlo.dynamic_update_slice %x, %2, %row, %zero : (tensor<4x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
    hlo.return %3 : tensor<4x64xf32>
  }) : (tensor<64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %6 = "hlo.fusion"(%4, %5) <{kind = "loop", name = "u"}> ({
  ^bb0(%u: tensor<64xf32>, %x: tensor<4x64xf32>):
    %row = hlo.constant dense<2> : tensor<i32>
    %zero = hlo.constant dense<0> : tensor<i32>
    %1 = hlo.abs %u : tensor<64xf32>
    %2 = hlo.reshape %1 : (tensor<64xf32>) -> tensor<1x64xf32>
    %3 = hlo.dynamic_update_slice %x, %2, %row, %zero : (tensor<4x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
    hlo.return %3 : tensor<4x64xf32>
  }) : (tensor<64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %7 = "hlo.fusion"(%v) <{kind = "loop", name = "b"}> ({
  ^bb0(%x: tensor<68xf32>):
    %1 = hlo.slice %x [4:68] : (tensor<68xf32>) -> tensor<64xf32>
    %2 = hlo.sine %1 : tensor<64xf32>
    hlo.return %2 : tensor<64xf32>
  }) : (tensor<68xf32>) -> tensor<64xf32>
  return %6, %7 : tensor<4x64xf32>, tensor<64xf32>
}
