// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @dot(
// CHECK: %{{.*}} = hlo.dot %{{.*}}, %{{.*}}, precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
func.func @dot(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  %0 = hlo.dot %arg0, %arg1, precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @dot_general(
// CHECK: %{{.*}} = hlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
func.func @dot_general(%arg0: tensor<5x2x3xf32>, %arg1: tensor<5x3x4xf32>) {
  %0 = hlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// CHECK-LABEL: func.func @dot_general_2(
// CHECK: %{{.*}} = hlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @dot_general_2(%arg0: tensor<2xf32>, %arg1: tensor<4xf32>) {
  %0 = hlo.dot_general %arg0, %arg1, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @ragged_dot(
// CHECK: %{{.*}} = "hlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{precision_config = [#hlo<precision DEFAULT>, #hlo<precision DEFAULT>], ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
func.func @ragged_dot(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi64>) {
  %0 = "hlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#hlo<precision DEFAULT>, #hlo<precision DEFAULT>], ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// CHECK-LABEL: func.func @convolution(
// CHECK: %{{.*}} = hlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 1, 0], window = {stride = [2, 1], pad = {{\[\[}}1, 1], [0, -1{{\]\]}}, lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x12x3xf32>
func.func @convolution(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x2x6xf32>) {
  %0 = hlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 1, 0], window = {stride = [2, 1], pad = [[1, 1], [0, -1]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x12x3xf32>
  return
}

// CHECK-LABEL: func.func @convolution_2(
// CHECK: %{{.*}} = hlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
func.func @convolution_2(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  %0 = hlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_conv(
// CHECK: %{{.*}} = "hlo.dynamic_conv"(%{{.*}}, %{{.*}}, %{{.*}}) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x4xf32>, tensor<3x4x6xf32>, tensor<1x2xi32>) -> tensor<1x?x6xf32>
func.func @dynamic_conv(%arg0: tensor<1x8x4xf32>, %arg1: tensor<3x4x6xf32>, %arg2: tensor<1x2xi32>) {
  %0 = "hlo.dynamic_conv"(%arg0, %arg1, %arg2) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x4xf32>, tensor<3x4x6xf32>, tensor<1x2xi32>) -> tensor<1x?x6xf32>
  return
}

// CHECK-LABEL: func.func @einsum(
// CHECK: %{{.*}} = hlo.einsum %{{.*}}, %{{.*}}, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
func.func @einsum(%arg0: tensor<4x16xf32>, %arg1: tensor<16x8xf32>) {
  %0 = hlo.einsum %arg0, %arg1, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @unary_einsum(
// CHECK: %{{.*}} = hlo.unary_einsum %{{.*}}, config = "ab->a" : (tensor<4x16xf32>) -> tensor<4xf32>
func.func @unary_einsum(%arg0: tensor<4x16xf32>) {
  %0 = hlo.unary_einsum %arg0, config = "ab->a" : (tensor<4x16xf32>) -> tensor<4xf32>
  return
}
