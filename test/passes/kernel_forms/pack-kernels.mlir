// Kernels that are constants, and those that many work units would turn around, are laid out in
// panels of the columns of register tiles.
// RUN: hlo-opt --pack-kernels --elide-elements=16 %s | FileCheck %s

// 54 rows of 4 tiles, 16 units for each 32 columns: 15 x 36,864 elements would be packed again.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = hlo.transpose %arg1, dims = [2, 3, 1, 0]
// CHECK: %[[R:.*]] = hlo.reshape %[[T]] : {{.*}} -> tensor<3x3x64x2x32xf32>
// CHECK: %[[P:.*]] = hlo.transpose %[[R]], dims = [3, 0, 1, 2, 4] : {{.*}} -> tensor<2x3x3x64x32xf32>
// CHECK: %[[B:.*]] = hlo.optimization_barrier %[[P]]
// CHECK: %[[V:.*]] = hlo.transpose %[[B]], dims = [1, 2, 3, 0, 4] {hlo.panels}
// CHECK: %[[K:.*]] = hlo.reshape %[[V]] {hlo.panels} : {{.*}} -> tensor<3x3x64x64xf32>
// CHECK: hlo.convolution(%arg0, %[[K]])
func.func @main(%x: tensor<1x56x56x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x54x54x64xf32> {
  %k = hlo.transpose %w, dims = [2, 3, 1, 0] : (tensor<64x64x3x3xf32>) -> tensor<3x3x64x64xf32>
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x54x54x64xf32>
  return %0 : tensor<1x54x54x64xf32>
}

// 90 columns are 3 panels of 32. The constant as it was is gone.
// CHECK-LABEL: func.func private @constant
// CHECK-NOT: tensor<1x2x90xf32>
// CHECK: hlo.constant {{.*}} : tensor<3x1x2x32xf32>
// CHECK: hlo.transpose {{.*}}, dims = [1, 2, 0, 3] {hlo.panels} : {{.*}} -> tensor<1x2x3x32xf32>
// CHECK: hlo.reshape {{.*}} {hlo.panels} : {{.*}} -> tensor<1x2x96xf32>
// CHECK: %[[K:.*]] = hlo.slice {{.*}} {hlo.panels} : {{.*}} -> tensor<1x2x90xf32>
// CHECK: hlo.convolution(%arg0, %[[K]])
func.func private @constant(%x: tensor<1x100x2xf32>) -> tensor<1x100x90xf32> {
  %k = hlo.constant dense<"0x000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42000080420000824200008442000086420000884200008A4200008C4200008E42000090420000924200009442000096420000984200009A4200009C4200009E420000A0420000A2420000A4420000A6420000A8420000AA420000AC420000AE420000B0420000B2420000B4420000B6420000B8420000BA420000BC420000BE420000C0420000C2420000C4420000C6420000C8420000CA420000CC420000CE420000D0420000D2420000D4420000D6420000D8420000DA420000DC420000DE420000E0420000E2420000E4420000E6420000E8420000EA420000EC420000EE420000F0420000F2420000F4420000F6420000F8420000FA420000FC420000FE420000004300000143000002430000034300000443000005430000064300000743000008430000094300000A4300000B4300000C4300000D4300000E4300000F430000104300001143000012430000134300001443000015430000164300001743000018430000194300001A4300001B4300001C4300001D4300001E4300001F430000204300002143000022430000234300002443000025430000264300002743000028430000294300002A4300002B4300002C4300002D4300002E4300002F4300003043000031430000324300003343"> : tensor<1x2x90xf32>
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x100x2xf32>, tensor<1x2x90xf32>) -> tensor<1x100x90xf32>
  return %0 : tensor<1x100x90xf32>
}

// A constant that something else reads is not there twice.
// CHECK-LABEL: func.func private @read_elsewhere
// CHECK-NOT: hlo.panels
// CHECK: return
func.func private @read_elsewhere(%x: tensor<1x100x2xf32>) -> (tensor<1x100x90xf32>, tensor<1x2x90xf32>) {
  %k = hlo.constant dense<"0x000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42000080420000824200008442000086420000884200008A4200008C4200008E42000090420000924200009442000096420000984200009A4200009C4200009E420000A0420000A2420000A4420000A6420000A8420000AA420000AC420000AE420000B0420000B2420000B4420000B6420000B8420000BA420000BC420000BE420000C0420000C2420000C4420000C6420000C8420000CA420000CC420000CE420000D0420000D2420000D4420000D6420000D8420000DA420000DC420000DE420000E0420000E2420000E4420000E6420000E8420000EA420000EC420000EE420000F0420000F2420000F4420000F6420000F8420000FA420000FC420000FE420000004300000143000002430000034300000443000005430000064300000743000008430000094300000A4300000B4300000C4300000D4300000E4300000F430000104300001143000012430000134300001443000015430000164300001743000018430000194300001A4300001B4300001C4300001D4300001E4300001F430000204300002143000022430000234300002443000025430000264300002743000028430000294300002A4300002B4300002C4300002D4300002E4300002F4300003043000031430000324300003343"> : tensor<1x2x90xf32>
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x100x2xf32>, tensor<1x2x90xf32>) -> tensor<1x100x90xf32>
  return %0, %k : tensor<1x100x90xf32>, tensor<1x2x90xf32>
}

// What is in memory in the right order, groups, and what two units pack stay as they are.
// CHECK-LABEL: func.func private @stay
// CHECK-NOT: hlo.panels
// CHECK: return
func.func private @stay(%x: tensor<1x56x56x64xf32>, %k: tensor<3x3x64x64xf32>, %g: tensor<3x3x32x64xf32>, %y: tensor<2x9x14x16xf32>, %w: tensor<3x3x16x64xf32>) -> (tensor<1x54x54x64xf32>, tensor<1x54x54x64xf32>, tensor<2x7x12x64xf32>) {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x54x54x64xf32>
  %r = hlo.reverse %g, dims = [0, 1] : tensor<3x3x32x64xf32>
  %1 = hlo.convolution(%x, %r) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x56x56x64xf32>, tensor<3x3x32x64xf32>) -> tensor<1x54x54x64xf32>
  %t = hlo.reverse %w, dims = [0, 1] : tensor<3x3x16x64xf32>
  %2 = hlo.convolution(%y, %t) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x14x16xf32>, tensor<3x3x16x64xf32>) -> tensor<2x7x12x64xf32>
  return %0, %1, %2 : tensor<1x54x54x64xf32>, tensor<1x54x54x64xf32>, tensor<2x7x12x64xf32>
}

// Rows of 512 features are 2 KiB apart: 1024 / 32 sets of 16 lines hold 512 rows, and 125 tiles read 1536.
// CHECK-LABEL: func.func private @far_apart
// CHECK: hlo.transpose {{.*}} -> tensor<{{16x3x512x32|11x3x512x48}}xf32>
// CHECK: hlo.optimization_barrier
// CHECK: hlo.convolution
func.func private @far_apart(%x: tensor<1x1502x512xf32>, %k: tensor<3x512x512xf32>) -> tensor<1x1500x512xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1502x512xf32>, tensor<3x512x512xf32>) -> tensor<1x1500x512xf32>
  return %0 : tensor<1x1500x512xf32>
}

// 56 tiles of a run of 32 columns are 4 work units, which would pack it 4 times.
// CHECK-LABEL: func.func private @again
// CHECK: hlo.transpose {{.*}} -> tensor<8x3x3x256x32xf32>
// CHECK: hlo.optimization_barrier
// CHECK: hlo.convolution
func.func private @again(%x: tensor<1x30x30x256xf32>, %k: tensor<3x3x256x256xf32>) -> tensor<1x28x28x256xf32> {
  %0 = hlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x30x30x256xf32>, tensor<3x3x256x256xf32>) -> tensor<1x28x28x256xf32>
  return %0 : tensor<1x28x28x256xf32>
}
