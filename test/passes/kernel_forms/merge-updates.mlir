// A cache of two layers that is sliced, updated and concatenated again is updated where it is; readers of
// a piece read it in the last version ahead of them.
// RUN: hlo-opt --merge-updates %s | FileCheck %s

// CHECK-LABEL: func.func @updated
// CHECK: %[[X:.*]] = hlo.reshape %arg0 : (tensor<2x1x8x4xf32>) -> tensor<2x8x4xf32>
// CHECK: %[[U:.*]] = hlo.reshape %arg1 : (tensor<1x4xf32>) -> tensor<1x1x4xf32>
// CHECK: %[[ONE:.*]] = hlo.dynamic_update_slice %[[X]], %[[U]], %{{.*}}, %arg2, %{{.*}} : (tensor<2x8x4xf32>, tensor<1x1x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x4xf32>
// CHECK: %[[READ:.*]] = hlo.slice %[[ONE]] [0:1, 0:8, 0:4]
// CHECK: %[[PIECE:.*]] = hlo.reshape %[[READ]] : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
// CHECK: hlo.negate %[[PIECE]]
// CHECK: %[[TWO:.*]] = hlo.dynamic_update_slice %[[ONE]], %{{.*}}, %{{.*}}, %arg2, %{{.*}}
// CHECK: %[[ALL:.*]] = hlo.reshape %[[TWO]] : (tensor<2x8x4xf32>) -> tensor<2x1x8x4xf32>
// CHECK-NOT: hlo.concatenate
// CHECK: return %[[ALL]]
func.func @updated(%cache: tensor<2x1x8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) -> (tensor<2x1x8x4xf32>, tensor<8x4xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0 = hlo.slice %cache [0:1, 0:1, 0:8, 0:4] : (tensor<2x1x8x4xf32>) -> tensor<1x1x8x4xf32>
  %1 = hlo.reshape %0 : (tensor<1x1x8x4xf32>) -> tensor<8x4xf32>
  %2 = hlo.dynamic_update_slice %1, %u, %i, %zero : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %3 = hlo.negate %2 : tensor<8x4xf32>
  %4 = hlo.slice %cache [1:2, 0:1, 0:8, 0:4] : (tensor<2x1x8x4xf32>) -> tensor<1x1x8x4xf32>
  %5 = hlo.reshape %4 : (tensor<1x1x8x4xf32>) -> tensor<8x4xf32>
  %6 = hlo.slice %3 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %7 = hlo.dynamic_update_slice %5, %6, %i, %zero : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %8 = hlo.reshape %2 : (tensor<8x4xf32>) -> tensor<1x1x8x4xf32>
  %9 = hlo.reshape %7 : (tensor<8x4xf32>) -> tensor<1x1x8x4xf32>
  %10 = hlo.concatenate %8, %9, dim = 0 : (tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) -> tensor<2x1x8x4xf32>
  return %10, %3 : tensor<2x1x8x4xf32>, tensor<8x4xf32>
}

// Pieces in another order than in the cache are no update of it.
// CHECK-LABEL: func.func @exchanged
// CHECK: hlo.concatenate
func.func @exchanged(%cache: tensor<2x8xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) -> tensor<2x8xf32> {
  %0 = hlo.slice %cache [1:2, 0:8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %1 = hlo.dynamic_update_slice %0, %u, %i, %i : (tensor<1x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %2 = hlo.slice %cache [0:1, 0:8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %3 = hlo.concatenate %1, %2, dim = 0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// A piece that is read before its update: the old cache is needed too.
// CHECK-LABEL: func.func @read_before
// CHECK: hlo.concatenate
func.func @read_before(%cache: tensor<2x8xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) -> (tensor<2x8xf32>, tensor<1x8xf32>) {
  %0 = hlo.slice %cache [0:1, 0:8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %1 = hlo.dynamic_update_slice %0, %u, %i, %i : (tensor<1x8xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %2 = hlo.slice %cache [1:2, 0:8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %3 = hlo.concatenate %1, %2, dim = 0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return %3, %0 : tensor<2x8xf32>, tensor<1x8xf32>
}
