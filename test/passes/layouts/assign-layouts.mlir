// Values get the layouts with which copies and transposes move least; arguments and results of the
// function stay row-major.
// RUN: hlo-opt --assign-layouts %s | FileCheck %s

// Both convolutions make their features minor, and what lies between them goes along. Only the result
// is copied, and kernels are.
// CHECK-LABEL: func.func @chain
// CHECK: %[[C:.*]] = hlo.convolution(%arg0, %{{.*}}) {{.*}} -> tensor<2x8x16x16xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK: %[[S:.*]] = hlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf32>) -> tensor<2x8x16x16xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK: %[[M:.*]] = hlo.multiply %[[C]], %[[S]] : tensor<2x8x16x16xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK: %[[D:.*]] = hlo.convolution(%[[M]], %{{.*}}) {{.*}} -> tensor<2x8x16x16xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK: %[[R:.*]] = hlo.copy %[[D]] : (tensor<2x8x16x16xf32, #hlo.layout<[1, 3, 2, 0]>>) -> tensor<2x8x16x16xf32>
// CHECK: return %[[R]]
func.func @chain(%x: tensor<2x3x16x16xf32>, %k: tensor<8x3x3x3xf32>, %l: tensor<8x8x3x3xf32>, %s: tensor<8xf32>) -> tensor<2x8x16x16xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x16x16xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x16x16xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<2x8x16x16xf32>
  %2 = hlo.multiply %0, %1 : tensor<2x8x16x16xf32>
  %3 = hlo.convolution(%2, %l) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x16x16xf32>
  return %3 : tensor<2x8x16x16xf32>
}

// A transposed product is the product of the operands in the other order: nothing moves.
// CHECK-LABEL: func.func @transposed_product
// CHECK: hlo.dot_general {{.*}} -> tensor<64x32xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.transpose {{.*}} : (tensor<64x32xf32, #hlo.layout<[0, 1]>>) -> tensor<32x64xf32>
func.func @transposed_product(%x: tensor<128x64xf32>, %y: tensor<128x32xf32>) -> tensor<32x64xf32> {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x64xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %2 = hlo.tanh %1 : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// The transposed product would have 2 columns in vectors of 16. 64 * 128 * 14 = 114688 idle products
// take as long as 28672 bytes; the transpose moves 2 * 64 * 2 * 4 = 1024.
// CHECK-LABEL: func.func @two_columns
// CHECK-NOT: #hlo.layout
func.func @two_columns(%x: tensor<128x2xf32>, %y: tensor<128x64xf32>) -> tensor<64x2xf32> {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x2xf32>, tensor<128x64xf32>) -> tensor<2x64xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<2x64xf32>) -> tensor<64x2xf32>
  %2 = hlo.tanh %1 : tensor<64x2xf32>
  return %2 : tensor<64x2xf32>
}

// Two row-major arguments would have to be copied to save one transpose.
// CHECK-LABEL: func.func @arguments_stay
// CHECK-NOT: #hlo.layout
func.func @arguments_stay(%x: tensor<64x32xf32>, %y: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %1 = hlo.add %0, %y : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// As 8 x 4 x 32 x 16 in memory the right operand's contracted dimensions, 8 and 32, would lie apart,
// and its product get a copy: no less than the transpose.
// CHECK-LABEL: func.func @scattered
// CHECK-NOT: #hlo.layout
func.func @scattered(%x: tensor<8x4x32x64xf32>, %y: tensor<8x4x64x16xf32>, %z: tensor<8x32x48xf32>) -> tensor<48x4x16xf32> {
  %0 = hlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<8x4x32x64xf32>, tensor<8x4x64x16xf32>) -> tensor<8x4x32x16xf32>
  %1 = hlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<8x4x32x16xf32>) -> tensor<8x32x4x16xf32>
  %2 = hlo.dot_general %z, %1, contracting_dims = [0, 1] x [0, 1] : (tensor<8x32x48xf32>, tensor<8x32x4x16xf32>) -> tensor<48x4x16xf32>
  return %2 : tensor<48x4x16xf32>
}

// A softmax along columns reads what a dot makes: as rows of the transposed product they are read
// once, and the next dot takes them in any order.
// CHECK-LABEL: func.func @columns
// CHECK: hlo.dot_general {{.*}} -> tensor<256x96xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.divide {{.*}} : tensor<256x96xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.dot_general {{.*}} : (tensor<256x96xf32, #hlo.layout<[0, 1]>>, tensor<256x16xf32>) -> tensor<96x16xf32>
func.func @columns(%k: tensor<256x16xf32>, %q: tensor<96x16xf32>, %v: tensor<256x16xf32>) -> tensor<96x16xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %k, %q, contracting_dims = [1] x [1] : (tensor<256x16xf32>, tensor<96x16xf32>) -> tensor<256x96xf32>
  %1 = hlo.exponential %0 : tensor<256x96xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<256x96xf32>, tensor<f32>) -> tensor<96xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<96xf32>) -> tensor<256x96xf32>
  %4 = hlo.divide %1, %3 : tensor<256x96xf32>
  %5 = hlo.dot_general %4, %v, contracting_dims = [0] x [0] : (tensor<256x96xf32>, tensor<256x16xf32>) -> tensor<96x16xf32>
  return %5 : tensor<96x16xf32>
}

// What stays in the first-level cache is folded down its columns, which are lanes: 64 x 48 x 4 bytes.
// CHECK-LABEL: func.func @few_columns
// CHECK-NOT: #hlo.layout
// CHECK: return
func.func @few_columns(%k: tensor<64x16xf32>, %q: tensor<48x16xf32>, %v: tensor<64x16xf32>) -> tensor<48x16xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %k, %q, contracting_dims = [1] x [1] : (tensor<64x16xf32>, tensor<48x16xf32>) -> tensor<64x48xf32>
  %1 = hlo.exponential %0 : tensor<64x48xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64x48xf32>, tensor<f32>) -> tensor<48xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<48xf32>) -> tensor<64x48xf32>
  %4 = hlo.divide %1, %3 : tensor<64x48xf32>
  %5 = hlo.dot_general %4, %v, contracting_dims = [0] x [0] : (tensor<64x48xf32>, tensor<64x16xf32>) -> tensor<48x16xf32>
  return %5 : tensor<48x16xf32>
}

// A loop reads what is around it in the order that it has; what it carries goes along.
// CHECK-LABEL: func.func @loop_reads
// CHECK: %[[D:.*]] = hlo.dot_general {{.*}} -> tensor<64x32xf32, #hlo.layout<[0, 1]>>
// CHECK: %[[Z:.*]] = hlo.copy {{.*}} -> tensor<64x32xf32, #hlo.layout<[0, 1]>>
// CHECK: %[[W:.*]]:2 = hlo.while(%{{.*}} = %{{.*}}, %[[A:.*]] = %[[Z]]) : tensor<i32>, tensor<64x32xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.add %[[A]], %[[D]] : tensor<64x32xf32, #hlo.layout<[0, 1]>>
// CHECK: %[[R:.*]] = hlo.copy %[[W]]#1 {{.*}} -> tensor<64x32xf32>
// CHECK: return {{.*}}, %[[R]]
func.func @loop_reads(%x: tensor<128x64xf32>, %y: tensor<128x32xf32>, %n: tensor<i32>) -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x32xf32>) {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x64xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %2 = hlo.tanh %1 : tensor<32x64xf32>
  %e = hlo.exponential %0 : tensor<64x32xf32>
  %f = hlo.transpose %e, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %c = hlo.constant dense<0.0> : tensor<64x32xf32>
  %one = hlo.constant dense<1> : tensor<i32>
  %3:2 = hlo.while(%i = %one, %a = %c) : tensor<i32>, tensor<64x32xf32>
  cond {
    %p = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  } do {
    %b = hlo.add %a, %0 : tensor<64x32xf32>
    %j = hlo.add %i, %one : tensor<i32>
    hlo.return %j, %b : tensor<i32>, tensor<64x32xf32>
  }
  return %2, %f, %3#1 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<64x32xf32>
}

// What a loop carries is turned once before and once behind it, and so is the kernel that it reads.
// CHECK-LABEL: func.func @carried
// CHECK-DAG: %[[X:.*]] = hlo.copy %arg0 {{.*}} -> tensor<2x16x8x8xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK-DAG: %[[K:.*]] = hlo.copy %arg1 {{.*}} -> tensor<16x16x3x3xf32, #hlo.layout<[0, 1, 3, 2]>>
// CHECK: hlo.while({{.*}}, %[[A:.*]] = %[[X]])
// CHECK: do
// CHECK-NOT: hlo.copy
// CHECK: %[[C:.*]] = hlo.convolution(%[[A]], %[[K]])
// CHECK: hlo.return %{{.*}}, %[[C]]
// CHECK: hlo.copy {{.*}} -> tensor<2x16x8x8xf32>
func.func @carried(%x: tensor<2x16x8x8xf32>, %k: tensor<16x16x3x3xf32>, %n: tensor<i32>) -> tensor<2x16x8x8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<2x16x8x8xf32>
  cond {
    %p = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  } do {
    %c = "hlo.convolution"(%a, %k) {dimension_numbers = #hlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, padding = dense<1> : tensor<2x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x8x8xf32>
    %j = hlo.add %i, %one : tensor<i32>
    hlo.return %j, %c : tensor<i32>, tensor<2x16x8x8xf32>
  }
  return %0#1 : tensor<2x16x8x8xf32>
}

// Branches return a value in one order, whatever they make it of.
// CHECK-LABEL: func.func @branches
// CHECK-NOT: hlo.copy
// CHECK: "hlo.if"
// CHECK: hlo.return %{{.*}} : tensor<16x32xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.return %{{.*}} : tensor<16x32xf32, #hlo.layout<[0, 1]>>
// CHECK: -> tensor<16x32xf32, #hlo.layout<[0, 1]>>
// CHECK-NOT: hlo.copy
func.func @branches(%x: tensor<32x16xf32>, %y: tensor<32x16xf32>, %p: tensor<i1>) -> tensor<32x16xf32> {
  %0 = hlo.tanh %x : tensor<32x16xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %2 = hlo.tanh %y : tensor<32x16xf32>
  %3 = hlo.transpose %2, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %4 = "hlo.if"(%p) ({
    %s = hlo.sine %1 : tensor<16x32xf32>
    hlo.return %s : tensor<16x32xf32>
  }, {
    %c = hlo.cosine %3 : tensor<16x32xf32>
    hlo.return %c : tensor<16x32xf32>
  }) : (tensor<i1>) -> tensor<16x32xf32>
  %5 = hlo.transpose %4, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  return %5 : tensor<32x16xf32>
}

// Rows that are gathered, and those that are scattered, are in any order of the rows.
// CHECK-LABEL: func.func @rows
// CHECK: hlo.copy %arg1 {{.*}} -> tensor<4x8xi32, #hlo.layout<[0, 1]>>
// CHECK: "hlo.gather"{{.*}} -> tensor<4x8x32xf32, #hlo.layout<[2, 0, 1]>>
// CHECK-NOT: hlo.copy
func.func @rows(%table: tensor<50x32xf32>, %rows: tensor<4x8xi32>) -> tensor<8x4x32xf32> {
  %0 = "hlo.gather"(%table, %rows) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<50x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  %1 = hlo.tanh %0 : tensor<4x8x32xf32>
  %2 = hlo.transpose %1, dims = [1, 0, 2] : (tensor<4x8x32xf32>) -> tensor<8x4x32xf32>
  return %2 : tensor<8x4x32xf32>
}

// Lines that are sorted lie in memory one by one.
// CHECK-LABEL: func.func @sorted_lines
// CHECK: "hlo.sort"(%{{.*}}) {{.*}}dimension = 0
// CHECK: tensor<32x16xf32, #hlo.layout<[0, 1]>>
// CHECK-NOT: hlo.copy
func.func @sorted_lines(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %t = hlo.tanh %x : tensor<16x32xf32>
  %0 = hlo.transpose %t, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %1 = "hlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<32x16xf32>) -> tensor<32x16xf32>
  %2 = hlo.transpose %1, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  return %2 : tensor<16x32xf32>
}

// The states of 64 systems, side by side: a concatenation along a minor dimension of 2 would keep the
// lanes of vectors idle. 64 * 2 * 4 * 50 = 25600 bytes of it in all, the copies at both ends move
// 2 * 2 * 512 = 2048. A column is the same memory in either order.
// CHECK-LABEL: func.func @systems
// CHECK: hlo.copy %arg0 : (tensor<64x2xf32>) -> tensor<64x2xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.slice {{.*}} : (tensor<64x2xf32, #hlo.layout<[0, 1]>>) -> tensor<64x1xf32>
// CHECK-NOT: hlo.copy
// CHECK: hlo.concatenate {{.*}} -> tensor<64x2xf32, #hlo.layout<[0, 1]>>
// CHECK: hlo.copy %{{.*}} : (tensor<64x2xf32, #hlo.layout<[0, 1]>>) -> tensor<64x2xf32>
func.func @systems(%x: tensor<64x2xf32>) -> tensor<64x2xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %n = hlo.constant dense<50> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<64x2xf32> attributes {hlo.trip_count = 50 : i64}
  cond {
    %p = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  } do {
    %u = hlo.slice %a [0:64, 0:1] : (tensor<64x2xf32>) -> tensor<64x1xf32>
    %v = hlo.slice %a [0:64, 1:2] : (tensor<64x2xf32>) -> tensor<64x1xf32>
    %s = hlo.sine %u : tensor<64x1xf32>
    %w = hlo.add %v, %s : tensor<64x1xf32>
    %c = hlo.concatenate %w, %u, dim = 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
    %j = hlo.add %i, %one : tensor<i32>
    hlo.return %j, %c : tensor<i32>, tensor<64x2xf32>
  }
  return %0#1 : tensor<64x2xf32>
}

// Distances of all pairs of points: their three coordinates are folded plane by plane.
// CHECK-LABEL: func.func @distances
// CHECK: hlo.subtract {{.*}} : tensor<32x32x3xf32, #hlo.layout<[1, 0, 2]>>
// CHECK: hlo.reduce{{.*}} across dimensions = [2]
// CHECK-NOT: hlo.copy
func.func @distances(%x: tensor<32x3xf32>) -> tensor<32x32xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<32x3xf32>) -> tensor<32x32x3xf32>
  %1 = hlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<32x3xf32>) -> tensor<32x32x3xf32>
  %2 = hlo.subtract %0, %1 : tensor<32x32x3xf32>
  %3 = hlo.multiply %2, %2 : tensor<32x32x3xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [2] : (tensor<32x32x3xf32>, tensor<f32>) -> tensor<32x32xf32>
  return %4 : tensor<32x32xf32>
}

// An argument that is only folded is read once as it is: to turn it would move twice as much.
// CHECK-LABEL: func.func @lengths
// CHECK-NOT: #hlo.layout
func.func @lengths(%x: tensor<1000x3xf32>) -> tensor<1000xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<1000x3xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<1000x3xf32>, tensor<f32>) -> tensor<1000xf32>
  return %1 : tensor<1000xf32>
}

// Gradients of depthwise convolutions by the weights are summed along places where both operands
// have them minor, which moves nothing; where one has its channels minor, the other follows.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: hlo.copy
// CHECK: hlo.convolution(%arg0, %arg1)
// CHECK: %[[X:.*]] = hlo.copy %arg0 {{.*}} -> tensor<8x96x20x20xf32, #hlo.layout<[1, 3, 2, 0]>>
// CHECK: hlo.convolution(%[[X]], %arg2)
func.func @depthwise(%x: tensor<8x96x20x20xf32>, %g: tensor<8x96x18x18xf32>, %h: tensor<8x18x18x96xf32>) -> (tensor<96x1x3x3xf32>, tensor<96x1x3x3xf32>) {
  %0 = hlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x20x20xf32>, tensor<8x96x18x18xf32>) -> tensor<96x1x3x3xf32>
  %1 = hlo.convolution(%x, %h) dim_numbers = [f, b, 0, 1]x[i, 0, 1, o]->[f, b, 0, 1], window = {} {batch_group_count = 96 : i64, feature_group_count = 1 : i64} : (tensor<8x96x20x20xf32>, tensor<8x18x18x96xf32>) -> tensor<96x1x3x3xf32>
  return %0, %1 : tensor<96x1x3x3xf32>, tensor<96x1x3x3xf32>
}
