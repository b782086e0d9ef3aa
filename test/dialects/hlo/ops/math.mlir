// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @asin_acos_kernel(
// CHECK: %{{.*}} = hlo._asin_acos_kernel %{{.*}} : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
func.func @asin_acos_kernel(%arg0: tensor<4xcomplex<f32>>) {
  %0 = hlo._asin_acos_kernel %arg0 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @acos(
// CHECK: %{{.*}} = hlo.acos %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @acos(%arg0: tensor<4xf32>) {
  %0 = hlo.acos %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @acosh(
// CHECK: %{{.*}} = hlo.acosh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @acosh(%arg0: tensor<4xf32>) {
  %0 = hlo.acosh %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @asin(
// CHECK: %{{.*}} = hlo.asin %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @asin(%arg0: tensor<4xf32>) {
  %0 = hlo.asin %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @asinh(
// CHECK: %{{.*}} = hlo.asinh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @asinh(%arg0: tensor<4xf32>) {
  %0 = hlo.asinh %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @atan(
// CHECK: %{{.*}} = hlo.atan %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @atan(%arg0: tensor<4xf32>) {
  %0 = hlo.atan %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @atanh(
// CHECK: %{{.*}} = hlo.atanh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @atanh(%arg0: tensor<4xf32>) {
  %0 = hlo.atanh %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @bessel_i1e(
// CHECK: %{{.*}} = hlo.bessel_i1e %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @bessel_i1e(%arg0: tensor<4xf32>) {
  %0 = hlo.bessel_i1e %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @conj(
// CHECK: %{{.*}} = hlo.conj %{{.*}} : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
func.func @conj(%arg0: tensor<4xcomplex<f64>>) {
  %0 = hlo.conj %arg0 : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  return
}

// CHECK-LABEL: func.func @cosh(
// CHECK: %{{.*}} = hlo.cosh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @cosh(%arg0: tensor<4xf32>) {
  %0 = hlo.cosh %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @digamma(
// CHECK: %{{.*}} = hlo.digamma %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @digamma(%arg0: tensor<4xf32>) {
  %0 = hlo.digamma %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @erf(
// CHECK: %{{.*}} = hlo.erf %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @erf(%arg0: tensor<4xf32>) {
  %0 = hlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @erf_inv(
// CHECK: %{{.*}} = hlo.erf_inv %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @erf_inv(%arg0: tensor<4xf32>) {
  %0 = hlo.erf_inv %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @erfc(
// CHECK: %{{.*}} = hlo.erfc %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @erfc(%arg0: tensor<4xf32>) {
  %0 = hlo.erfc %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @is_inf(
// CHECK: %{{.*}} = hlo.is_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
func.func @is_inf(%arg0: tensor<4xf32>) {
  %0 = hlo.is_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @is_neg_inf(
// CHECK: %{{.*}} = hlo.is_neg_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
func.func @is_neg_inf(%arg0: tensor<4xf32>) {
  %0 = hlo.is_neg_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @is_pos_inf(
// CHECK: %{{.*}} = hlo.is_pos_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
func.func @is_pos_inf(%arg0: tensor<4xf32>) {
  %0 = hlo.is_pos_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @lgamma(
// CHECK: %{{.*}} = hlo.lgamma %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @lgamma(%arg0: tensor<4xf32>) {
  %0 = hlo.lgamma %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sinh(
// CHECK: %{{.*}} = hlo.sinh %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @sinh(%arg0: tensor<4xf32>) {
  %0 = hlo.sinh %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @square(
// CHECK: %{{.*}} = hlo.square %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @square(%arg0: tensor<4xf32>) {
  %0 = hlo.square %arg0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @mulhi(
// CHECK: %{{.*}} = hlo.mulhi %{{.*}}, %{{.*}} : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
func.func @mulhi(%arg0: tensor<4xi64>) {
  %0 = hlo.mulhi %arg0, %arg0 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  return
}

// CHECK-LABEL: func.func @next_after(
// CHECK: %{{.*}} = hlo.next_after %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
func.func @next_after(%arg0: tensor<4xf32>) {
  %0 = hlo.next_after %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @polygamma(
// CHECK: %{{.*}} = hlo.polygamma %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
func.func @polygamma(%arg0: tensor<4xf32>) {
  %0 = hlo.polygamma %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @zeta(
// CHECK: %{{.*}} = hlo.zeta %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
func.func @zeta(%arg0: tensor<4xf32>) {
  %0 = hlo.zeta %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}
