// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @batch_norm_grad(
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = "hlo.batch_norm_grad"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
func.func @batch_norm_grad(%arg0: tensor<2x3x2xf32>, %arg1: tensor<3xf32>) {
  %grad_operand, %grad_scale, %grad_offset = "hlo.batch_norm_grad"(%arg0, %arg1, %arg1, %arg1, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// CHECK-LABEL: func.func @batch_norm_inference(
// CHECK: %{{.*}} = "hlo.batch_norm_inference"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2xf32>
func.func @batch_norm_inference(%arg0: tensor<2x3x2xf32>, %arg1: tensor<3xf32>) {
  %0 = "hlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2xf32>
  return
}

// CHECK-LABEL: func.func @batch_norm_training(
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = "hlo.batch_norm_training"(%{{.*}}, %{{.*}}, %{{.*}}) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
func.func @batch_norm_training(%arg0: tensor<2x3x2xf32>, %arg1: tensor<3xf32>) {
  %output, %batch_mean, %batch_var = "hlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// CHECK-LABEL: func.func @cholesky(
// CHECK: %{{.*}} = hlo.cholesky %{{.*}}, lower = true : tensor<5x3x3xf32>
func.func @cholesky(%arg0: tensor<5x3x3xf32>) {
  %0 = hlo.cholesky %arg0, lower = true : tensor<5x3x3xf32>
  return
}

// CHECK-LABEL: func.func @triangular_solve(
// CHECK: %{{.*}} = "hlo.triangular_solve"(%{{.*}}, %{{.*}}) <{left_side = true, lower = true, transpose_a = #hlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
func.func @triangular_solve(%arg0: tensor<5x3x3xf32>, %arg1: tensor<5x3x7xf32>) {
  %0 = "hlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #hlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
  return
}

// CHECK-LABEL: func.func @fft(
// CHECK: %{{.*}} = hlo.fft %{{.*}}, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
func.func @fft(%arg0: tensor<3x8xf32>) {
  %0 = hlo.fft %arg0, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @fft_2(
// CHECK: %{{.*}} = hlo.fft %{{.*}}, type = IRFFT, length = [8] : (tensor<3x5xcomplex<f32>>) -> tensor<3x8xf32>
func.func @fft_2(%arg0: tensor<3x5xcomplex<f32>>) {
  %0 = hlo.fft %arg0, type = IRFFT, length = [8] : (tensor<3x5xcomplex<f32>>) -> tensor<3x8xf32>
  return
}

// CHECK-LABEL: func.func @rng(
// CHECK: %{{.*}} = hlo.rng %{{.*}}, %{{.*}}, %{{.*}}, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
func.func @rng(%arg0: tensor<f32>, %arg1: tensor<2xi64>) {
  %0 = hlo.rng %arg0, %arg0, %arg1, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
  return
}

// CHECK-LABEL: func.func @rng_bit_generator(
// CHECK: %{{.*}}, %{{.*}} = hlo.rng_bit_generator %{{.*}}, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
func.func @rng_bit_generator(%arg0: tensor<2xui64>) {
  %output_state, %output = hlo.rng_bit_generator %arg0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return
}
