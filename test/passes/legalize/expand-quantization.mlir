// Quantized tensors become their stored integers, and quantization arithmetic.
// RUN: hlo-opt --expand-quantization %s | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4xf32>) -> tensor<2x2xi8>
// CHECK-DAG: hlo.divide
// CHECK-DAG: hlo.round_nearest_even
// CHECK: %[[Q:.*]] = hlo.convert {{.*}} -> tensor<4xi8>
// CHECK: hlo.reshape %[[Q]] : (tensor<4xi8>) -> tensor<2x2xi8>
func.func @main(%x: tensor<4xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>> {
  %0 = "hlo.uniform_quantize"(%x) : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:1>>
  %1 = "hlo.reshape"(%0) : (tensor<4x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  return %1 : tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
}
