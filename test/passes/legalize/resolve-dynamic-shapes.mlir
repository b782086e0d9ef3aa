// Shapes that constants determine become static, and so do the types computed from them.
// RUN: hlo-opt --resolve-dynamic-shapes %s | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<6xf32>) -> tensor<3x2xf32>
// CHECK: %[[R:.*]] = hlo.reshape %arg0 : (tensor<6xf32>) -> tensor<3x2xf32>
// CHECK: hlo.negate %[[R]] : tensor<3x2xf32>
func.func @main(%x: tensor<6xf32>) -> tensor<?x?xf32> {
  %0 = hlo.constant dense<[3, 2]> : tensor<2xi64>
  %1 = "hlo.dynamic_reshape"(%x, %0) : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = hlo.negate %1 : tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}
