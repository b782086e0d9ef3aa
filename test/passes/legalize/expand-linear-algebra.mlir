// A Cholesky factor is LAPACK's, with zeros in the other triangle and NaN for failure.
// RUN: hlo-opt --expand-linear-algebra %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]]:2 = hlo.custom_call @lapack_spotrf_ffi(%arg0) {{.*}}uplo = 76 : ui8
// CHECK: hlo.compare EQ, %[[F]]#1
// CHECK: hlo.constant dense<0x7FC00000>
// CHECK: hlo.select
// CHECK: hlo.select
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = hlo.cholesky %a, lower = true : tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
