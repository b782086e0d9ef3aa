// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @dynamic_broadcast_in_dim(
// CHECK: %{{.*}} = hlo.dynamic_broadcast_in_dim %{{.*}}, %{{.*}}, dims = [2, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
func.func @dynamic_broadcast_in_dim(%arg0: tensor<1x3xf32>, %arg1: tensor<3xi64>) {
  %0 = hlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [2, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_gather(
// CHECK: %{{.*}} = "hlo.dynamic_gather"(%{{.*}}, %{{.*}}, %{{.*}}) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
func.func @dynamic_gather(%arg0: tensor<9x4xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<2xi32>) {
  %0 = "hlo.dynamic_gather"(%arg0, %arg1, %arg2) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_iota(
// CHECK: %{{.*}} = hlo.dynamic_iota %{{.*}}, dim = 1 : (tensor<2xindex>) -> tensor<4x?xf32>
func.func @dynamic_iota(%arg0: tensor<2xindex>) {
  %0 = hlo.dynamic_iota %arg0, dim = 1 : (tensor<2xindex>) -> tensor<4x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_pad(
// CHECK: %{{.*}} = hlo.dynamic_pad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @dynamic_pad(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi64>) {
  %0 = hlo.dynamic_pad %arg0, %arg1, %arg2, %arg2, %arg2 : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_reshape(
// CHECK: %{{.*}} = hlo.dynamic_reshape %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
func.func @dynamic_reshape(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  %0 = hlo.dynamic_reshape %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: func.func @real_dynamic_slice(
// CHECK: %{{.*}} = hlo.real_dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x?xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x?xf32>
func.func @real_dynamic_slice(%arg0: tensor<8x?xf32>, %arg1: tensor<2xindex>) {
  %0 = hlo.real_dynamic_slice %arg0, %arg1, %arg1, %arg1 : (tensor<8x?xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @get_dimension_size(
// CHECK: %{{.*}} = hlo.get_dimension_size %{{.*}}, dim = 1 : (tensor<8x?xf32>) -> tensor<i32>
func.func @get_dimension_size(%arg0: tensor<8x?xf32>) {
  %0 = hlo.get_dimension_size %arg0, dim = 1 : (tensor<8x?xf32>) -> tensor<i32>
  return
}

// CHECK-LABEL: func.func @set_dimension_size(
// CHECK: %{{.*}} = hlo.set_dimension_size %{{.*}}, %{{.*}}, dim = 1 : (tensor<8x4xf32>, tensor<i32>) -> tensor<8x?xf32, #hlo.bounds<?, 4>>
func.func @set_dimension_size(%arg0: tensor<8x4xf32>, %arg1: tensor<i32>) {
  %0 = hlo.set_dimension_size %arg0, %arg1, dim = 1 : (tensor<8x4xf32>, tensor<i32>) -> tensor<8x?xf32, #hlo.bounds<?, 4>>
  return
}
