// A select_and_scatter takes in the padding ahead of it and the slice behind it.
// RUN: hlo-opt --fuse-selections %s | FileCheck %s

// Windows of 3 x 3 two apart over 8 x 8 and a line of padding ahead: 9 x 9 hold (9 - 3) / 2 + 1 = 4 of them each way.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[R:.*]] = "hlo.fusion"(%{{.*}}, %{{.*}}) <{kind = "update", name = "pad_select_and_scatter_slice"}>
// CHECK: hlo.pad
// CHECK: hlo.select_and_scatter
// CHECK: hlo.slice
// CHECK: return %[[R]]
func.func @gradient(%x: tensor<8x8x16xf32>, %dy: tensor<4x4x16xf32>) -> tensor<8x8x16xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "hlo.pad"(%x, %low) <{edge_padding_low = array<i64: 1, 1, 0>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<8x8x16xf32>, tensor<f32>) -> tensor<9x9x16xf32>
  %1 = "hlo.select_and_scatter"(%0, %dy, %zero) <{window_dimensions = array<i64: 3, 3, 1>, window_strides = array<i64: 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9x9x16xf32>, tensor<4x4x16xf32>, tensor<f32>) -> tensor<9x9x16xf32>
  %2 = "hlo.slice"(%1) <{start_indices = array<i64: 1, 1, 0>, limit_indices = array<i64: 9, 9, 16>, strides = array<i64: 1, 1, 1>}> : (tensor<9x9x16xf32>) -> tensor<8x8x16xf32>
  return %2 : tensor<8x8x16xf32>
}

// What is padded is read by something else, and all of the result: both stay where they are.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK-NOT: hlo.fusion
// CHECK: return
func.func @read_elsewhere(%x: tensor<8x8x16xf32>, %dy: tensor<4x4x16xf32>) -> (tensor<9x9x16xf32>, tensor<9x9x16xf32>, tensor<8x8x16xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "hlo.pad"(%x, %low) <{edge_padding_low = array<i64: 1, 1, 0>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<8x8x16xf32>, tensor<f32>) -> tensor<9x9x16xf32>
  %1 = "hlo.select_and_scatter"(%0, %dy, %zero) <{window_dimensions = array<i64: 3, 3, 1>, window_strides = array<i64: 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "hlo.compare"(%a, %b) <{comparison_direction = #hlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<9x9x16xf32>, tensor<4x4x16xf32>, tensor<f32>) -> tensor<9x9x16xf32>
  %2 = "hlo.slice"(%1) <{start_indices = array<i64: 1, 1, 0>, limit_indices = array<i64: 9, 9, 16>, strides = array<i64: 1, 1, 1>}> : (tensor<9x9x16xf32>) -> tensor<8x8x16xf32>
  return %0, %1, %2 : tensor<9x9x16xf32>, tensor<9x9x16xf32>, tensor<8x8x16xf32>
}
