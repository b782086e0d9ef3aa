// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @map(
// CHECK: %{{.*}} = "hlo.map"(%{{.*}}, %{{.*}}) <{dimensions = array<i64: 0>}> ({
// CHECK: %{{.*}} = hlo.multiply %{{.*}}, %{{.*}} : tensor<i64>
// CHECK: hlo.return %{{.*}} : tensor<i64>
func.func @map(%arg0: tensor<4xi64>) {
  %0 = "hlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
    %1 = hlo.multiply %arg1, %arg2 : tensor<i64>
    hlo.return %1 : tensor<i64>
  }) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return
}

// CHECK-LABEL: func.func @reduce(
// CHECK: %{{.*}} = hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.add across dimensions = [1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2xf32>
func.func @reduce(%arg0: tensor<2x6xf32>, %arg1: tensor<f32>) {
  %0 = hlo.reduce(%arg0 init: %arg1) applies hlo.add across dimensions = [1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @reduce_2(
// CHECK: %{{.*}}:2 = hlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [1, 0] : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
// CHECK: %{{.*}} = hlo.maximum %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<i32>
func.func @reduce_2(%arg0: tensor<2x6xf32>, %arg1: tensor<f32>, %arg2: tensor<2x6xi32>, %arg3: tensor<i32>) {
  %0:2 = hlo.reduce(%arg0 init: %arg1), (%arg2 init: %arg3) across dimensions = [1, 0] : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>) {
    %1 = hlo.maximum %arg4, %arg6 : tensor<f32>
    hlo.return %1, %arg5 : tensor<f32>, tensor<i32>
  }
  return
}

// CHECK-LABEL: func.func @reduce_window(
// CHECK: %{{.*}} = "hlo.reduce_window"(%{{.*}}, %{{.*}}) <{padding = dense<{{\[\[}}1, 0], [0, 0{{\]\]}}> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
// CHECK: %{{.*}} = hlo.maximum %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @reduce_window(%arg0: tensor<4x3xf32>, %arg1: tensor<f32>) {
  %0 = "hlo.reduce_window"(%arg0, %arg1) <{padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %1 = hlo.maximum %arg2, %arg3 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @scan(
// CHECK: %{{.*}}, %{{.*}} = "hlo.scan"(%{{.*}}, %{{.*}}) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<3xf32>
// CHECK: hlo.return %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3xf32>
func.func @scan(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>) {
  %outputs, %carries = "hlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%arg2: tensor<3xf32>, %arg3: tensor<3xf32>):
    %0 = hlo.add %arg2, %arg3 : tensor<3xf32>
    hlo.return %0, %0 : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// CHECK-LABEL: func.func @select_and_scatter(
// CHECK: %{{.*}} = "hlo.select_and_scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
// CHECK: %{{.*}} = hlo.compare GE, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: hlo.return %{{.*}} : tensor<i1>
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @select_and_scatter(%arg0: tensor<4x4xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<f32>) {
  %0 = "hlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = hlo.compare GE, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  }, {
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = hlo.add %arg3, %arg4 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @sort(
// CHECK: %{{.*}} = "hlo.sort"(%{{.*}}) <{dimension = 0 : i64, is_stable = true}> ({
// CHECK: %{{.*}} = hlo.compare LT, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: hlo.return %{{.*}} : tensor<i1>
func.func @sort(%arg0: tensor<8xf32>) {
  %0 = "hlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = hlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @top_k(
// CHECK: %{{.*}}, %{{.*}} = hlo.top_k(%{{.*}}, k = 2) : tensor<3x8xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
func.func @top_k(%arg0: tensor<3x8xf32>) {
  %values, %indices = hlo.top_k(%arg0, k = 2) : tensor<3x8xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return
}
