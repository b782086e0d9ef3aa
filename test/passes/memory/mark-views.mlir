// A layer of stacked weights that a dot reads is a part of them: the host program computes where it
// begins, the index brought into range. What elementwise ops read fuses with them.
// RUN: hlo-opt --mark-views %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK: hlo.dynamic_slice %arg0, {{.*}} {hlo.view}
// CHECK-NOT: hlo.view

// HOST-LABEL: func.func @main
// HOST: } do {
// HOST: %[[RAW:.*]] = memref.load %{{.*}} : memref<1xi32>
// HOST: %[[I:.*]] = arith.index_cast %[[RAW]] : i32 to index
// HOST: %[[AT_LEAST:.*]] = arith.maxsi %[[I]], %{{.*}} : index
// HOST: %[[LAYER:.*]] = arith.minui %[[AT_LEAST]], %{{.*}} : index
// HOST: %[[AT:.*]] = arith.muli %[[LAYER]], %{{.*}} : index
// HOST: %[[PART:.*]] = memref.subview %arg0[%[[AT]]] [2304] [1]
// HOST: %[[W:.*]] = builtin.unrealized_conversion_cast %[[PART]]
// HOST: func.call @{{.*}}dot_general{{.*}}%[[W]]
// HOST: scf.yield
func.func @main(%w: tensor<4x48x48xf32>, %x: tensor<16x48xf32>, %b: tensor<4x48xf32>) -> tensor<16x48xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %four = hlo.constant dense<4> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x48xf32>
   cond {
    %1 = hlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  } do {
    %1 = hlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 48, 48] : (tensor<4x48x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x48xf32>
    %2 = hlo.reshape %1 : (tensor<1x48x48xf32>) -> tensor<48x48xf32>
    %3 = hlo.dot_general %c, %2, contracting_dims = [1] x [0] : (tensor<16x48xf32>, tensor<48x48xf32>) -> tensor<16x48xf32>
    %4 = hlo.dynamic_slice %b, %i, %zero, sizes = [1, 48] : (tensor<4x48xf32>, tensor<i32>, tensor<i32>) -> tensor<1x48xf32>
    %5 = hlo.reshape %4 : (tensor<1x48xf32>) -> tensor<48xf32>
    %6 = hlo.broadcast_in_dim %5, dims = [1] : (tensor<48xf32>) -> tensor<16x48xf32>
    %7 = hlo.add %3, %6 : tensor<16x48xf32>
    %8 = hlo.add %i, %one : tensor<i32>
    hlo.return %8, %7 : tensor<i32>, tensor<16x48xf32>
  }
  return %0#1 : tensor<16x48xf32>
}
