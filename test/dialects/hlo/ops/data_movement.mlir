// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @constant(
// CHECK: %{{.*}} = hlo.constant dense<[1, 2]> : tensor<2xi32>
func.func @constant() {
  %cst = hlo.constant dense<[1, 2]> : tensor<2xi32>
  return
}

// CHECK-LABEL: func.func @constant_2(
// CHECK: %{{.*}} = hlo.constant {note = "kept"} dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
func.func @constant_2() {
  %cst = hlo.constant {note = "kept"} dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
  return
}

// CHECK-LABEL: func.func @iota(
// CHECK: %{{.*}} = hlo.iota dim = 1 : tensor<2x3xbf16>
func.func @iota() {
  %0 = hlo.iota dim = 1 : tensor<2x3xbf16>
  return
}

// CHECK-LABEL: func.func @bitcast_convert(
// CHECK: %{{.*}} = hlo.bitcast_convert %{{.*}} : (tensor<f64>) -> tensor<4xf16>
func.func @bitcast_convert(%arg0: tensor<f64>) {
  %0 = hlo.bitcast_convert %arg0 : (tensor<f64>) -> tensor<4xf16>
  return
}

// CHECK-LABEL: func.func @bitcast_convert_2(
// CHECK: %{{.*}} = hlo.bitcast_convert %{{.*}} : (tensor<3x2xi4>) -> tensor<3xui8>
func.func @bitcast_convert_2(%arg0: tensor<3x2xi4>) {
  %0 = hlo.bitcast_convert %arg0 : (tensor<3x2xi4>) -> tensor<3xui8>
  return
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: %{{.*}} = hlo.broadcast %{{.*}}, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
func.func @broadcast(%arg0: tensor<3xf32>) {
  %0 = hlo.broadcast %arg0, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @broadcast_in_dim(
// CHECK: %{{.*}} = hlo.broadcast_in_dim %{{.*}}, dims = [2, 1] : (tensor<1x3xf32>) -> tensor<2x3x2xf32>
func.func @broadcast_in_dim(%arg0: tensor<1x3xf32>) {
  %0 = hlo.broadcast_in_dim %arg0, dims = [2, 1] : (tensor<1x3xf32>) -> tensor<2x3x2xf32>
  return
}

// CHECK-LABEL: func.func @concatenate(
// CHECK: %{{.*}} = hlo.concatenate %{{.*}}, %{{.*}},  dim = 0 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
func.func @concatenate(%arg0: tensor<3x2xf32>, %arg1: tensor<1x2xf32>) {
  %0 = hlo.concatenate %arg0, %arg1,  dim = 0 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @copy(
// CHECK: %{{.*}} = hlo.copy %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
func.func @copy(%arg0: tensor<2x3xf32>) {
  %0 = hlo.copy %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
  return
}

// CHECK-LABEL: func.func @dynamic_slice(
// CHECK: %{{.*}} = hlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}},  sizes = [2, 4] : (tensor<4x4xf32>, tensor<ui8>, tensor<ui8>) -> tensor<2x4xf32>
func.func @dynamic_slice(%arg0: tensor<4x4xf32>, %arg1: tensor<ui8>) {
  %0 = hlo.dynamic_slice %arg0, %arg1, %arg1,  sizes = [2, 4] : (tensor<4x4xf32>, tensor<ui8>, tensor<ui8>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @dynamic_slice_2(
// CHECK: %{{.*}} = hlo.dynamic_slice %{{.*}},  sizes = [] : (tensor<f32>) -> tensor<f32>
func.func @dynamic_slice_2(%arg0: tensor<f32>) {
  %0 = hlo.dynamic_slice %arg0,  sizes = [] : (tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @dynamic_update_slice(
// CHECK: %{{.*}} = hlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
func.func @dynamic_update_slice(%arg0: tensor<4x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<i32>) {
  %0 = hlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @gather(
// CHECK: %{{.*}} = "hlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
func.func @gather(%arg0: tensor<9x4xf32>, %arg1: tensor<3x1xi32>) {
  %0 = "hlo.gather"(%arg0, %arg1) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: func.func @gather_2(
// CHECK: %{{.*}} = "hlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<5x9x4xf32>, tensor<5x3xi32>) -> tensor<5x3x4xf32>
func.func @gather_2(%arg0: tensor<5x9x4xf32>, %arg1: tensor<5x3xi32>) {
  %0 = "hlo.gather"(%arg0, %arg1) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<5x9x4xf32>, tensor<5x3xi32>) -> tensor<5x3x4xf32>
  return
}

// CHECK-LABEL: func.func @pad(
// CHECK: %{{.*}} = hlo.pad %{{.*}}, %{{.*}}, low = [0, 1], high = [2, -1], interior = [1, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x7xf32>
func.func @pad(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  %0 = hlo.pad %arg0, %arg1, low = [0, 1], high = [2, -1], interior = [1, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x7xf32>
  return
}

// CHECK-LABEL: func.func @reshape(
// CHECK: %{{.*}} = hlo.reshape %{{.*}} : (tensor<2x3xf32>) -> tensor<3x1x2xf32>
func.func @reshape(%arg0: tensor<2x3xf32>) {
  %0 = hlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x1x2xf32>
  return
}

// CHECK-LABEL: func.func @reverse(
// CHECK: %{{.*}} = hlo.reverse %{{.*}}, dims = [1, 0] : tensor<2x3xf32>
func.func @reverse(%arg0: tensor<2x3xf32>) {
  %0 = hlo.reverse %arg0, dims = [1, 0] : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @scatter(
// CHECK: %{{.*}} = "hlo.scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @scatter(%arg0: tensor<9x4xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<3x4xf32>) {
  %0 = "hlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = hlo.add %arg3, %arg4 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return
}

// CHECK-LABEL: func.func @slice(
// CHECK: %{{.*}} = hlo.slice %{{.*}} [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
func.func @slice(%arg0: tensor<3x4xf32>) {
  %0 = hlo.slice %arg0 [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
  return
}

// CHECK-LABEL: func.func @torch_index_select(
// CHECK: %{{.*}} = "hlo.torch_index_select"(%{{.*}}, %{{.*}}) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x1x5xf32>, tensor<2xi32>) -> tensor<2x1x5xf32>
func.func @torch_index_select(%arg0: tensor<5x1x5xf32>, %arg1: tensor<2xi32>) {
  %0 = "hlo.torch_index_select"(%arg0, %arg1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x1x5xf32>, tensor<2xi32>) -> tensor<2x1x5xf32>
  return
}

// CHECK-LABEL: func.func @transpose(
// CHECK: %{{.*}} = hlo.transpose %{{.*}}, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
func.func @transpose(%arg0: tensor<2x3x4xf32>) {
  %0 = hlo.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return
}
