// A generator is arithmetic on unsigned words.
// RUN: hlo-opt --expand-rng %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-DAG: hlo.shift_right_logical
// CHECK-DAG: hlo.xor
// CHECK-NOT: rng
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
  %0:2 = "hlo.rng_bit_generator"(%s) {rng_algorithm = #hlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0#0, %0#1 : tensor<2xui64>, tensor<4xui32>
}
