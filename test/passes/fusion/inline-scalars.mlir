// A scalar that two kernels read, and that a third scalar is made of, is computed by both of them.
// RUN: hlo-opt --fuse --inline-scalars %s | FileCheck %s
// RUN: hlo-opt --target=nvptx:sm_80 %s | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: func.func @main
// CHECK-NOT: -> tensor<f32>
// CHECK: "hlo.fusion"(%arg0, %arg2)
// CHECK: hlo.power
// CHECK: hlo.divide
// CHECK: "hlo.fusion"(%arg1, %arg2)
// CHECK: hlo.power
// CHECK: hlo.divide
// CHECK: return

// Kernels that do not depend on one another are one launch: 4096 / 4 / 256 = 4 blocks, and 1.
// PLAN: launch {{.*}} grid=5x1x1 block=256x1x1
// PLAN-NOT: launch

// A result of the program stays one.
// CHECK-LABEL: func.func private @kept
// CHECK: %[[S:.*]] = "hlo.fusion"(%arg1)
// CHECK: "hlo.fusion"(%arg0, %arg1)
// CHECK: return %{{.*}}, %[[S]]

func.func @main(%x: tensor<4096xf32>, %y: tensor<100xf32>, %t: tensor<f32>) -> (tensor<4096xf32>, tensor<100xf32>) {
  %b = hlo.constant dense<0.9> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %n = hlo.add %t, %one : tensor<f32>
  %p = hlo.power %b, %n : tensor<f32>
  %s = hlo.subtract %one, %p : tensor<f32>
  %w = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096xf32>
  %v = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<100xf32>
  %0 = hlo.divide %x, %w : tensor<4096xf32>
  %1 = hlo.divide %y, %v : tensor<100xf32>
  return %0, %1 : tensor<4096xf32>, tensor<100xf32>
}
func.func private @kept(%x: tensor<4096xf32>, %t: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) {
  %b = hlo.constant dense<0.9> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %p = hlo.power %b, %t : tensor<f32>
  %s = hlo.subtract %one, %p : tensor<f32>
  %w = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096xf32>
  %0 = hlo.divide %x, %w : tensor<4096xf32>
  return %0, %s : tensor<4096xf32>, tensor<f32>
}
