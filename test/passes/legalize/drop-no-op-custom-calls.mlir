// Annotations go, calls that name an op become it, and calls of the runtime stay.
// RUN: hlo-opt --drop-no-op-custom-calls %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: Sharding
// CHECK: %[[ERF:.*]] = hlo.erf %arg0
// CHECK: hlo.custom_call @lapack_spotrf_ffi(%[[ERF]])
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = hlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = hlo.custom_call @mhlo.erf(%0) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %2:2 = hlo.custom_call @lapack_spotrf_ffi(%1) {mhlo.backend_config = {uplo = 76 : ui8}}
    : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %2#0 : tensor<3x3xf32>
}

// jaxlib's solver names no element type; the runtime's routines do.
// CHECK-LABEL: func.func @solve
// CHECK: hlo.custom_call @lapack_zgtsv_perturbed_ffi(%arg0, %arg0, %arg0, %arg1)
func.func @solve(%d: tensor<2x4xcomplex<f64>>, %b: tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>> {
  %0 = hlo.custom_call @tridiagonal_solve_perturbed_ffi(%d, %d, %d, %b) {mhlo.backend_config = {}}
    : (tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>)
    -> tensor<2x4x3xcomplex<f64>>
  return %0 : tensor<2x4x3xcomplex<f64>>
}
