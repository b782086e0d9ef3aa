// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @abs(
// CHECK: %{{.*}} = hlo.abs %{{.*}} : tensor<4xi32>
func.func @abs(%arg0: tensor<4xi32>) {
  %0 = hlo.abs %arg0 : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @abs_2(
// CHECK: %{{.*}} = hlo.abs %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
func.func @abs_2(%arg0: tensor<4xcomplex<f32>>) {
  %0 = hlo.abs %arg0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: %{{.*}} = hlo.cbrt %{{.*}} : tensor<4xf8E4M3FN>
func.func @cbrt(%arg0: tensor<4xf8E4M3FN>) {
  %0 = hlo.cbrt %arg0 : tensor<4xf8E4M3FN>
  return
}

// CHECK-LABEL: func.func @ceil(
// CHECK: %{{.*}} = hlo.ceil %{{.*}} : tensor<4xbf16>
func.func @ceil(%arg0: tensor<4xbf16>) {
  %0 = hlo.ceil %arg0 : tensor<4xbf16>
  return
}

// CHECK-LABEL: func.func @count_leading_zeros(
// CHECK: %{{.*}} = hlo.count_leading_zeros %{{.*}} : tensor<4xui2>
func.func @count_leading_zeros(%arg0: tensor<4xui2>) {
  %0 = hlo.count_leading_zeros %arg0 : tensor<4xui2>
  return
}

// CHECK-LABEL: func.func @cosine(
// CHECK: %{{.*}} = hlo.cosine %{{.*}} : tensor<4xf64>
func.func @cosine(%arg0: tensor<4xf64>) {
  %0 = hlo.cosine %arg0 : tensor<4xf64>
  return
}

// CHECK-LABEL: func.func @exponential(
// CHECK: %{{.*}} = hlo.exponential %{{.*}} {result_accuracy = #hlo.result_accuracy<atol = 1.000000e-05, ulps = 10, mode = #hlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
func.func @exponential(%arg0: tensor<4xf32>) {
  %0 = hlo.exponential %arg0 {result_accuracy = #hlo.result_accuracy<atol = 1.000000e-05, ulps = 10, mode = #hlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @exponential_minus_one(
// CHECK: %{{.*}} = hlo.exponential_minus_one %{{.*}} : tensor<4xf16>
func.func @exponential_minus_one(%arg0: tensor<4xf16>) {
  %0 = hlo.exponential_minus_one %arg0 : tensor<4xf16>
  return
}

// CHECK-LABEL: func.func @floor(
// CHECK: %{{.*}} = hlo.floor %{{.*}} : tensor<4xf32>
func.func @floor(%arg0: tensor<4xf32>) {
  %0 = hlo.floor %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @imag(
// CHECK: %{{.*}} = hlo.imag %{{.*}} : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
func.func @imag(%arg0: tensor<4xcomplex<f64>>) {
  %0 = hlo.imag %arg0 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return
}

// CHECK-LABEL: func.func @is_finite(
// CHECK: %{{.*}} = hlo.is_finite %{{.*}} : (tensor<?xf32>) -> tensor<?xi1>
func.func @is_finite(%arg0: tensor<?xf32>) {
  %0 = hlo.is_finite %arg0 : (tensor<?xf32>) -> tensor<?xi1>
  return
}

// CHECK-LABEL: func.func @log(
// CHECK: %{{.*}} = hlo.log %{{.*}} : tensor<4xcomplex<f64>>
func.func @log(%arg0: tensor<4xcomplex<f64>>) {
  %0 = hlo.log %arg0 : tensor<4xcomplex<f64>>
  return
}

// CHECK-LABEL: func.func @log_plus_one(
// CHECK: %{{.*}} = hlo.log_plus_one %{{.*}} : tensor<4xf32>
func.func @log_plus_one(%arg0: tensor<4xf32>) {
  %0 = hlo.log_plus_one %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @logistic(
// CHECK: %{{.*}} = hlo.logistic %{{.*}} : tensor<4xf32>
func.func @logistic(%arg0: tensor<4xf32>) {
  %0 = hlo.logistic %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @negate(
// CHECK: %{{.*}} = hlo.negate %{{.*}} : tensor<0x3xi4>
func.func @negate(%arg0: tensor<0x3xi4>) {
  %0 = hlo.negate %arg0 : tensor<0x3xi4>
  return
}

// CHECK-LABEL: func.func @not(
// CHECK: %{{.*}} = hlo.not %{{.*}} : tensor<4xi1>
func.func @not(%arg0: tensor<4xi1>) {
  %0 = hlo.not %arg0 : tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @popcnt(
// CHECK: %{{.*}} = hlo.popcnt %{{.*}} : tensor<4xi64>
func.func @popcnt(%arg0: tensor<4xi64>) {
  %0 = hlo.popcnt %arg0 : tensor<4xi64>
  return
}

// CHECK-LABEL: func.func @real(
// CHECK: %{{.*}} = hlo.real %{{.*}} : tensor<4xf32>
func.func @real(%arg0: tensor<4xf32>) {
  %0 = hlo.real %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @round_nearest_afz(
// CHECK: %{{.*}} = hlo.round_nearest_afz %{{.*}} : tensor<4xf32>
func.func @round_nearest_afz(%arg0: tensor<4xf32>) {
  %0 = hlo.round_nearest_afz %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @round_nearest_even(
// CHECK: %{{.*}} = hlo.round_nearest_even %{{.*}} : tensor<4xf32>
func.func @round_nearest_even(%arg0: tensor<4xf32>) {
  %0 = hlo.round_nearest_even %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: %{{.*}} = hlo.rsqrt %{{.*}} : tensor<4xf32>
func.func @rsqrt(%arg0: tensor<4xf32>) {
  %0 = hlo.rsqrt %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sign(
// CHECK: %{{.*}} = hlo.sign %{{.*}} : tensor<4xcomplex<f32>>
func.func @sign(%arg0: tensor<4xcomplex<f32>>) {
  %0 = hlo.sign %arg0 : tensor<4xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @sine(
// CHECK: %{{.*}} = hlo.sine %{{.*}} : tensor<4xf32>
func.func @sine(%arg0: tensor<4xf32>) {
  %0 = hlo.sine %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: %{{.*}} = hlo.sqrt %{{.*}} : tensor<4xf32>
func.func @sqrt(%arg0: tensor<4xf32>) {
  %0 = hlo.sqrt %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @tan(
// CHECK: %{{.*}} = hlo.tan %{{.*}} : tensor<4xf32>
func.func @tan(%arg0: tensor<4xf32>) {
  %0 = hlo.tan %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @tanh(
// CHECK: %{{.*}} = hlo.tanh %{{.*}} : tensor<f32>
func.func @tanh(%arg0: tensor<f32>) {
  %0 = hlo.tanh %arg0 : tensor<f32>
  return
}

// CHECK-LABEL: func.func @add(
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<4xi1>
func.func @add(%arg0: tensor<4xi1>) {
  %0 = hlo.add %arg0, %arg0 : tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @add_2(
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
func.func @add_2(%arg0: tensor<2x?xf32>, %arg1: tensor<?x3xf32>) {
  %0 = hlo.add %arg0, %arg1 : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @add_3(
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>
func.func @add_3(%arg0: tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>) {
  %0 = hlo.add %arg0, %arg0 : tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>
  return
}

// CHECK-LABEL: func.func @and(
// CHECK: %{{.*}} = hlo.and %{{.*}}, %{{.*}} : tensor<4xi8>
func.func @and(%arg0: tensor<4xi8>) {
  %0 = hlo.and %arg0, %arg0 : tensor<4xi8>
  return
}

// CHECK-LABEL: func.func @atan2(
// CHECK: %{{.*}} = hlo.atan2 %{{.*}}, %{{.*}} : tensor<4xf32>
func.func @atan2(%arg0: tensor<4xf32>) {
  %0 = hlo.atan2 %arg0, %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @complex(
// CHECK: %{{.*}} = hlo.complex %{{.*}}, %{{.*}} : tensor<4xcomplex<f32>>
func.func @complex(%arg0: tensor<4xf32>) {
  %0 = hlo.complex %arg0, %arg0 : tensor<4xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @divide(
// CHECK: %{{.*}} = hlo.divide %{{.*}}, %{{.*}} : tensor<4xui64>
func.func @divide(%arg0: tensor<4xui64>) {
  %0 = hlo.divide %arg0, %arg0 : tensor<4xui64>
  return
}

// CHECK-LABEL: func.func @maximum(
// CHECK: %{{.*}} = hlo.maximum %{{.*}}, %{{.*}} : tensor<4xi1>
func.func @maximum(%arg0: tensor<4xi1>) {
  %0 = hlo.maximum %arg0, %arg0 : tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @minimum(
// CHECK: %{{.*}} = hlo.minimum %{{.*}}, %{{.*}} : tensor<4xcomplex<f32>>
func.func @minimum(%arg0: tensor<4xcomplex<f32>>) {
  %0 = hlo.minimum %arg0, %arg0 : tensor<4xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @multiply(
// CHECK: %{{.*}} = hlo.multiply %{{.*}}, %{{.*}} : tensor<4xf6E2M3FN>
func.func @multiply(%arg0: tensor<4xf6E2M3FN>) {
  %0 = hlo.multiply %arg0, %arg0 : tensor<4xf6E2M3FN>
  return
}

// CHECK-LABEL: func.func @or(
// CHECK: %{{.*}} = hlo.or %{{.*}}, %{{.*}} : tensor<4xi1>
func.func @or(%arg0: tensor<4xi1>) {
  %0 = hlo.or %arg0, %arg0 : tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @power(
// CHECK: %{{.*}} = hlo.power %{{.*}}, %{{.*}} : tensor<4xi32>
func.func @power(%arg0: tensor<4xi32>) {
  %0 = hlo.power %arg0, %arg0 : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @remainder(
// CHECK: %{{.*}} = hlo.remainder %{{.*}}, %{{.*}} : tensor<4xi2>
func.func @remainder(%arg0: tensor<4xi2>) {
  %0 = hlo.remainder %arg0, %arg0 : tensor<4xi2>
  return
}

// CHECK-LABEL: func.func @shift_left(
// CHECK: %{{.*}} = hlo.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
func.func @shift_left(%arg0: tensor<4xi32>) {
  %0 = hlo.shift_left %arg0, %arg0 : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @shift_right_arithmetic(
// CHECK: %{{.*}} = hlo.shift_right_arithmetic %{{.*}}, %{{.*}} : tensor<4xi32>
func.func @shift_right_arithmetic(%arg0: tensor<4xi32>) {
  %0 = hlo.shift_right_arithmetic %arg0, %arg0 : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @shift_right_logical(
// CHECK: %{{.*}} = hlo.shift_right_logical %{{.*}}, %{{.*}} : tensor<4xui32>
func.func @shift_right_logical(%arg0: tensor<4xui32>) {
  %0 = hlo.shift_right_logical %arg0, %arg0 : tensor<4xui32>
  return
}

// CHECK-LABEL: func.func @subtract(
// CHECK: %{{.*}} = hlo.subtract %{{.*}}, %{{.*}} : tensor<4xf32, #hlo.layout<[0]>>
func.func @subtract(%arg0: tensor<4xf32, #hlo.layout<[0]>>) {
  %0 = hlo.subtract %arg0, %arg0 : tensor<4xf32, #hlo.layout<[0]>>
  return
}

// CHECK-LABEL: func.func @xor(
// CHECK: %{{.*}} = hlo.xor %{{.*}}, %{{.*}} : tensor<4xi16>
func.func @xor(%arg0: tensor<4xi16>) {
  %0 = hlo.xor %arg0, %arg0 : tensor<4xi16>
  return
}

// CHECK-LABEL: func.func @clamp(
// CHECK: %{{.*}} = hlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
func.func @clamp(%arg0: tensor<f32>, %arg1: tensor<4xf32>) {
  %0 = hlo.clamp %arg0, %arg1, %arg0 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @clamp_2(
// CHECK: %{{.*}} = hlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
func.func @clamp_2(%arg0: tensor<4xf32>) {
  %0 = hlo.clamp %arg0, %arg0, %arg0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @compare(
// CHECK: %{{.*}} = hlo.compare LT, %{{.*}}, %{{.*}},  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
func.func @compare(%arg0: tensor<4xf32>) {
  %0 = hlo.compare LT, %arg0, %arg0,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @compare_2(
// CHECK: %{{.*}} = hlo.compare EQ, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
func.func @compare_2(%arg0: tensor<4xi1>) {
  %0 = hlo.compare EQ, %arg0, %arg0 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @convert(
// CHECK: %{{.*}} = hlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xi8>
func.func @convert(%arg0: tensor<4xf32>) {
  %0 = hlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi8>
  return
}

// CHECK-LABEL: func.func @reduce_precision(
// CHECK: %{{.*}} = hlo.reduce_precision %{{.*}}, format = e5m10 : tensor<4xf64>
func.func @reduce_precision(%arg0: tensor<4xf64>) {
  %0 = hlo.reduce_precision %arg0, format = e5m10 : tensor<4xf64>
  return
}

// CHECK-LABEL: func.func @select(
// CHECK: %{{.*}} = hlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>
func.func @select(%arg0: tensor<i1>, %arg1: tensor<4xf32>) {
  %0 = hlo.select %arg0, %arg1, %arg1 : tensor<i1>, tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @select_2(
// CHECK: %{{.*}} = hlo.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
func.func @select_2(%arg0: tensor<4xi1>, %arg1: tensor<4xf32>, %arg2: tensor<?xf32>) {
  %0 = hlo.select %arg0, %arg1, %arg2 : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}
