// What is woven of two halves and woven again, as an associative scan does level by level, is in
// memory between: lanes compute both halves of all elements, twice as much with each level.
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: hlo.fusion
// CHECK-COUNT-2: hlo.pad
// CHECK: hlo.return
// CHECK: hlo.fusion
// CHECK-COUNT-2: hlo.pad
// CHECK: hlo.return
func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>, %z: tensor<2000xf32>) -> tensor<4000xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [0], high = [1], interior = [1] : (tensor<1000xf32>, tensor<f32>) -> tensor<2000xf32>
  %1 = hlo.pad %y, %zero, low = [1], high = [0], interior = [1] : (tensor<1000xf32>, tensor<f32>) -> tensor<2000xf32>
  %2 = hlo.add %0, %1 : tensor<2000xf32>
  %3 = hlo.multiply %2, %z : tensor<2000xf32>
  %4 = hlo.pad %3, %zero, low = [0], high = [1], interior = [1] : (tensor<2000xf32>, tensor<f32>) -> tensor<4000xf32>
  %5 = hlo.pad %2, %zero, low = [1], high = [0], interior = [1] : (tensor<2000xf32>, tensor<f32>) -> tensor<4000xf32>
  %6 = hlo.add %4, %5 : tensor<4000xf32>
  return %6 : tensor<4000xf32>
}
