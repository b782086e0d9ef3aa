// RUN: hlo-opt --compile-to=simplified %s | FileCheck %s --check-prefix=STRICT
// RUN: hlo-opt --compile-to=simplified --fast %s | FileCheck %s --check-prefix=FAST

// STRICT: hlo.divide
// FAST: hlo.multiply
// FAST-NOT: hlo.divide
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = hlo.constant dense<3.0> : tensor<3xf32>
  %0 = hlo.divide %x, %c : tensor<3xf32>
  return %0 : tensor<3xf32>
}
