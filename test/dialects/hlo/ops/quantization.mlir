// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @uniform_dequantize(
// CHECK: %{{.*}} = hlo.uniform_dequantize %{{.*}} : (tensor<2x!quant.uniform<i8:f32, 5.000000e-01:17>>) -> tensor<2xf32>
func.func @uniform_dequantize(%arg0: tensor<2x!quant.uniform<i8:f32, 5.000000e-01:17>>) {
  %0 = hlo.uniform_dequantize %arg0 : (tensor<2x!quant.uniform<i8:f32, 5.000000e-01:17>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @uniform_quantize(
// CHECK: %{{.*}} = hlo.uniform_quantize %{{.*}} : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01:3}>>
func.func @uniform_quantize(%arg0: tensor<2xf32>) {
  %0 = hlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01:3}>>
  return
}
