// Convolutions with windows of one element are dots over all positions; those of few positions and
// many features are dots of gathered patches.
// RUN: hlo-opt --convolutions-to-dots %s | FileCheck %s

// CHECK-LABEL: func.func @one_by_one
// CHECK: %[[W:.*]] = hlo.reshape %arg1 : (tensor<1x1x32x64xf32>) -> tensor<32x64xf32>
// CHECK: hlo.dot_general %arg0, %[[W]], contracting_dims = [3] x [0] : {{.*}} -> tensor<2x14x14x64xf32>
func.func @one_by_one(%x: tensor<2x14x14x32xf32>, %k: tensor<1x1x32x64xf32>) -> tensor<2x14x14x64xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x14x14x32xf32>, tensor<1x1x32x64xf32>) -> tensor<2x14x14x64xf32>
  return %0 : tensor<2x14x14x64xf32>
}

// Every other element of 13 x 13: 7 x 7 positions.
// CHECK-LABEL: func.func @strided
// CHECK: hlo.slice %arg0 [0:2, 0:13:2, 0:13:2, 0:32]
// CHECK: hlo.dot_general {{.*}} -> tensor<2x7x7x64xf32>
func.func @strided(%x: tensor<2x14x14x32xf32>, %k: tensor<1x1x32x64xf32>) -> tensor<2x7x7x64xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x14x14x32xf32>, tensor<1x1x32x64xf32>) -> tensor<2x7x7x64xf32>
  return %0 : tensor<2x7x7x64xf32>
}

// 4 x 5 = 20 positions: 9 taps of 32 features are a depth of 288.
// CHECK-LABEL: func.func @few_positions
// CHECK-COUNT-9: hlo.slice %arg0
// CHECK: %[[P:.*]] = hlo.concatenate {{.*}}dim = 3 : {{.*}} -> tensor<1x4x5x288xf32>
// CHECK: hlo.dot_general %[[P]], {{.*}} contracting_dims = [3] x [0]
func.func @few_positions(%x: tensor<1x6x7x32xf32>, %k: tensor<3x3x32x64xf32>) -> tensor<1x4x5x64xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x7x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x4x5x64xf32>
  return %0 : tensor<1x4x5x64xf32>
}

// Groups stay, and so do windows over many positions: 10 x 10 = 100 > 64.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-2: hlo.convolution
func.func @stay(%x: tensor<1x12x12x32xf32>, %k: tensor<3x3x32x64xf32>, %g: tensor<1x1x16x64xf32>) -> (tensor<1x10x10x64xf32>, tensor<1x12x12x64xf32>) {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x12x12x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x10x10x64xf32>
  %1 = hlo.convolution(%x, %g) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x12x12x32xf32>, tensor<1x1x16x64xf32>) -> tensor<1x12x12x64xf32>
  return %0, %1 : tensor<1x10x10x64xf32>, tensor<1x12x12x64xf32>
}

// A kernel that is another tensor turned around is packed by the convolution; a dot would store it.
// CHECK-LABEL: func.func @turned
// CHECK: hlo.convolution
func.func @turned(%x: tensor<1x6x7x32xf32>, %k: tensor<3x3x32x64xf32>) -> tensor<1x4x5x64xf32> {
  %0 = hlo.reverse %k, dims = [0, 1] : tensor<3x3x32x64xf32>
  %1 = hlo.convolution(%x, %0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x7x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x4x5x64xf32>
  return %1 : tensor<1x4x5x64xf32>
}

// The gradient by the weights of a window of one element: the window is all of the input, 2 x 6 x 7 products are summed.
// CHECK-LABEL: func.func @gradient_by_weights
// CHECK: %[[D:.*]] = hlo.dot_general %arg0, %arg1, contracting_dims = [0, 1, 2] x [0, 1, 2] : {{.*}} -> tensor<64x96xf32>
// CHECK: hlo.reshape %[[D]] : (tensor<64x96xf32>) -> tensor<1x1x64x96xf32>
func.func @gradient_by_weights(%x: tensor<2x6x7x64xf32>, %dy: tensor<2x6x7x96xf32>) -> tensor<1x1x64x96xf32> {
  %0 = hlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x64xf32>, tensor<2x6x7x96xf32>) -> tensor<1x1x64x96xf32>
  return %0 : tensor<1x1x64x96xf32>
}

// Of few features it stays.
// CHECK-LABEL: func.func @gradient_by_few_weights
// CHECK: hlo.convolution
func.func @gradient_by_few_weights(%x: tensor<2x6x7x32xf32>, %dy: tensor<2x6x7x16xf32>) -> tensor<1x1x32x16xf32> {
  %0 = hlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x32xf32>, tensor<2x6x7x16xf32>) -> tensor<1x1x32x16xf32>
  return %0 : tensor<1x1x32x16xf32>
}

// Planes of one example, 16 x 16 = 256 positions each, are rows of a product as they are: what turned them around, and their result back, is left out.
// CHECK-LABEL: func.func @planes
// CHECK-NOT: hlo.transpose
// CHECK: %[[W:.*]] = hlo.reshape %arg1 : (tensor<1x1x32x64xf32>) -> tensor<32x64xf32>
// CHECK: %[[D:.*]] = hlo.dot_general %[[W]], %arg0, contracting_dims = [0] x [1] : {{.*}} -> tensor<64x1x16x16xf32>
// CHECK: hlo.reshape %[[D]] : (tensor<64x1x16x16xf32>) -> tensor<1x64x16x16xf32>
func.func @planes(%x: tensor<1x32x16x16xf32>, %k: tensor<1x1x32x64xf32>) -> tensor<1x64x16x16xf32> {
  %0 = hlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<1x32x16x16xf32>) -> tensor<1x16x16x32xf32>
  %1 = hlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x16x16x64xf32>
  %2 = hlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<1x16x16x64xf32>) -> tensor<1x64x16x16xf32>
  return %2 : tensor<1x64x16x16xf32>
}

// Those of two examples are not, nor is a result that is read both ways.
// CHECK-LABEL: func.func @planes_of_two
// CHECK: hlo.dot_general %0, {{.*}} contracting_dims = [3] x [0] : {{.*}} -> tensor<2x16x16x64xf32>
// CHECK: hlo.dot_general {{.*}} contracting_dims = [3] x [0] : {{.*}} -> tensor<1x16x16x64xf32>
func.func @planes_of_two(%x: tensor<2x32x16x16xf32>, %y: tensor<1x32x16x16xf32>, %k: tensor<1x1x32x64xf32>) -> (tensor<2x64x16x16xf32>, tensor<1x64x16x16xf32>, tensor<1x16x16x64xf32>) {
  %0 = hlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<2x32x16x16xf32>) -> tensor<2x16x16x32xf32>
  %1 = hlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x16x32xf32>, tensor<1x1x32x64xf32>) -> tensor<2x16x16x64xf32>
  %2 = hlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<2x16x16x64xf32>) -> tensor<2x64x16x16xf32>
  %3 = hlo.transpose %y, dims = [0, 2, 3, 1] : (tensor<1x32x16x16xf32>) -> tensor<1x16x16x32xf32>
  %4 = hlo.convolution(%3, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x16x16x64xf32>
  %5 = hlo.transpose %4, dims = [0, 3, 1, 2] : (tensor<1x16x16x64xf32>) -> tensor<1x64x16x16xf32>
  return %2, %5, %4 : tensor<2x64x16x16xf32>, tensor<1x64x16x16xf32>, tensor<1x16x16x64xf32>
}

// The gradient by the weights of windows over planes: rows of both.
// CHECK-LABEL: func.func @gradient_of_planes
// CHECK-NOT: hlo.transpose
// CHECK: hlo.dot_general %arg0, %arg1, contracting_dims = [0, 2, 3] x [0, 2, 3] : {{.*}} -> tensor<64x96xf32>
func.func @gradient_of_planes(%x: tensor<1x64x16x17xf32>, %dy: tensor<1x96x16x17xf32>) -> tensor<1x1x64x96xf32> {
  %0 = hlo.transpose %dy, dims = [0, 2, 3, 1] : (tensor<1x96x16x17xf32>) -> tensor<1x16x17x96xf32>
  %1 = hlo.convolution(%x, %0) dim_numbers = [f, b, 0, 1]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x16x17xf32>, tensor<1x16x17x96xf32>) -> tensor<1x1x64x96xf32>
  return %1 : tensor<1x1x64x96xf32>
}

// Planes of 15 x 17 = 255 positions are turned around.
// CHECK-LABEL: func.func @small_planes
// CHECK: hlo.dot_general %0, {{.*}} contracting_dims = [3] x [0] : {{.*}} -> tensor<1x15x17x64xf32>
func.func @small_planes(%x: tensor<1x32x15x17xf32>, %k: tensor<1x1x32x64xf32>) -> tensor<1x64x15x17xf32> {
  %0 = hlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<1x32x15x17xf32>) -> tensor<1x15x17x32xf32>
  %1 = hlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x15x17x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x15x17x64xf32>
  %2 = hlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<1x15x17x64xf32>) -> tensor<1x64x15x17xf32>
  return %2 : tensor<1x64x15x17xf32>
}
