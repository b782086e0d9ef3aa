// Few channels behind what windows walk make planes, whose lines fill vectors.
// RUN: hlo-opt --arrange-selections %s | FileCheck %s

// The padding and the slice move too. Windows of 3 x 2, 2 x 1 apart, over 41 x 8 with one more ahead: 42 x 8 hold
// (42 - 3) / 2 + 1 = 20 by 8 - 2 + 1 = 7, and one on the right.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[X:.*]] = hlo.transpose %arg0, dims = [2, 0, 1] : (tensor<41x8x3xf32>) -> tensor<3x41x8xf32>
// CHECK: %[[P:.*]] = hlo.pad %[[X]], %{{.*}}, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<3x41x8xf32>, tensor<f32>) -> tensor<3x42x8xf32>
// CHECK: %[[DY:.*]] = hlo.transpose %arg1, dims = [2, 0, 1]
// CHECK: %[[R:.*]] = "hlo.select_and_scatter"(%[[P]], %[[DY]], %{{.*}}) <{padding = dense<{{\[}}[0, 0], [0, 0], [0, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 2>, window_strides = array<i64: 1, 2, 1>}>
// CHECK: hlo.compare GE
// CHECK: hlo.add
// CHECK: %[[S:.*]] = hlo.slice %[[R]] [0:3, 1:42, 0:8] : (tensor<3x42x8xf32>) -> tensor<3x41x8xf32>
// CHECK: %[[BACK:.*]] = hlo.transpose %[[S]], dims = [1, 2, 0] : (tensor<3x41x8xf32>) -> tensor<41x8x3xf32>
// CHECK: return %[[BACK]]
func.func @gradient(%x: tensor<41x8x3xf32>, %dy: tensor<20x8x3xf32>) -> tensor<41x8x3xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "hlo.pad"(%x, %low) <{edge_padding_low = array<i64: 1, 0, 0>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<41x8x3xf32>, tensor<f32>) -> tensor<42x8x3xf32>
  %1 = "hlo.select_and_scatter"(%0, %dy, %zero) <{window_dimensions = array<i64: 3, 2, 1>, window_strides = array<i64: 2, 1, 1>, padding = dense<[[0, 0], [0, 1], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<42x8x3xf32>, tensor<20x8x3xf32>, tensor<f32>) -> tensor<42x8x3xf32>
  %2 = "hlo.slice"(%1) <{start_indices = array<i64: 1, 0, 0>, limit_indices = array<i64: 42, 8, 3>, strides = array<i64: 1, 1, 1>}> : (tensor<42x8x3xf32>) -> tensor<41x8x3xf32>
  return %2 : tensor<41x8x3xf32>
}

// Four channels fill a vector; windows of more taps than are unrolled (5 x 6 = 30) are not collected from.
// CHECK-LABEL: func.func @as_they_are
// CHECK-NOT: hlo.transpose
// CHECK: return
func.func @as_they_are(%x: tensor<40x8x4xf32>, %dy: tensor<20x8x4xf32>, %y: tensor<40x6x3xf32>, %dz: tensor<8x1x3xf32>) -> (tensor<40x8x4xf32>, tensor<40x6x3xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 2, 1, 1>, window_strides = array<i64: 2, 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<40x8x4xf32>, tensor<20x8x4xf32>, tensor<f32>) -> tensor<40x8x4xf32>
  %1 = "hlo.select_and_scatter"(%y, %dz, %zero) <{window_dimensions = array<i64: 5, 6, 1>, window_strides = array<i64: 5, 6, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<40x6x3xf32>, tensor<8x1x3xf32>, tensor<f32>) -> tensor<40x6x3xf32>
  return %0, %1 : tensor<40x8x4xf32>, tensor<40x6x3xf32>
}
