// Many numbers folded into few elements are folded into copies of these side by side.
// RUN: hlo-opt --split-scatters %s | FileCheck %s
// RUN: hlo-opt --split-scatters='smallest=100' %s | FileCheck %s --check-prefix=HUNDRED

// 32768 = 8 x 4096, into 8 x 256 elements: 2048, no more than a fourth of 32768. Ones stay a constant.
// CHECK-LABEL: func.func @count
// CHECK-DAG: %[[X:.*]] = hlo.reshape %arg0 : (tensor<256xi32>) -> tensor<1x256xi32>
// CHECK-DAG: %[[ZERO:.*]] = hlo.constant dense<0> : tensor<7x256xi32>
// CHECK: %[[C:.*]] = hlo.concatenate %[[X]], %[[ZERO]], dim = 0
// CHECK: %[[I:.*]] = hlo.reshape %arg1 : (tensor<32768x1xi32>) -> tensor<8x4096x1xi32>
// CHECK: %[[U:.*]] = hlo.constant dense<1> : tensor<8x4096xi32>
// CHECK: %[[S:.*]] = "hlo.scatter"(%[[C]], %[[I]], %[[U]])
// CHECK-SAME: inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2
// CHECK: hlo.add
// CHECK: hlo.reduce(%[[S]] init: %{{.*}}) applies hlo.add across dimensions = [0] : (tensor<8x256xi32>, tensor<i32>) -> tensor<256xi32>
func.func @count(%x: tensor<256xi32>, %i: tensor<32768x1xi32>) -> tensor<256xi32> {
  %u = hlo.constant dense<1> : tensor<32768xi32>
  %0 = "hlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = hlo.add %a, %b : tensor<i32>
    hlo.return %1 : tensor<i32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<256xi32>, tensor<32768x1xi32>, tensor<32768xi32>) -> tensor<256xi32>
  return %0 : tensor<256xi32>
}

// Two indices each, of a result of 32 x 40: 4 x 1280 = 5120 elements, 8 x 1280 more than 32768 / 4 = 8192.
// CHECK-LABEL: func.func @planes
// CHECK: hlo.constant dense<0xFF800000> : tensor<3x32x40xf32>
// CHECK: -> tensor<4x8192x2xi32>
// CHECK: inserted_window_dims = [1, 2], {{.*}} scatter_dims_to_operand_dims = [2, 1]
// CHECK: applies hlo.maximum across dimensions = [0] : (tensor<4x32x40xf32>
func.func @planes(%x: tensor<32x40xf32>, %i: tensor<32768x2xi32>, %u: tensor<32768xf32>) -> tensor<32x40xf32> {
  %0 = "hlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = hlo.maximum %a, %b : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>} : (tensor<32x40xf32>, tensor<32768x2xi32>, tensor<32768xf32>) -> tensor<32x40xf32>
  return %0 : tensor<32x40xf32>
}

// The last update alone counts; an update twice; sums rounded to 16 bits each; an odd number of updates; few of them.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: hlo.reduce
// HUNDRED-LABEL: func.func @kept
// HUNDRED: hlo.reduce({{.*}} : (tensor<8x4xf32>
// HUNDRED-NOT: hlo.reduce
func.func @kept(%x: tensor<4xf32>, %h: tensor<4xf16>, %i: tensor<32768x1xi32>, %u: tensor<32768xf32>, %v: tensor<32768xf16>, %j: tensor<32767x1xi32>, %w: tensor<32767xf32>, %k: tensor<1024x1xi32>, %f: tensor<1024xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "hlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<32768x1xi32>, tensor<32768xf32>) -> tensor<4xf32>
  %1 = "hlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = hlo.add %b, %b : tensor<f32>
    hlo.return %5 : tensor<f32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<32768x1xi32>, tensor<32768xf32>) -> tensor<4xf32>
  %2 = "hlo.scatter"(%h, %i, %v) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %5 = hlo.add %a, %b : tensor<f16>
    hlo.return %5 : tensor<f16>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf16>, tensor<32768x1xi32>, tensor<32768xf16>) -> tensor<4xf16>
  %3 = "hlo.scatter"(%x, %j, %w) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = hlo.add %a, %b : tensor<f32>
    hlo.return %5 : tensor<f32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<32767x1xi32>, tensor<32767xf32>) -> tensor<4xf32>
  %4 = "hlo.scatter"(%x, %k, %f) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = hlo.add %a, %b : tensor<f32>
    hlo.return %5 : tensor<f32>
  }) {scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<1024x1xi32>, tensor<1024xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf32>
}
