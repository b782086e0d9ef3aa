// A reduction over what another computes is a kernel of its own: the first would be done again for each use.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: reduce {{.*}} -> negate {{.*}}: not fused because the reduction would be computed again for every element
func.func @main(%x: tensor<256x30xf32>) -> tensor<256xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %lowest = hlo.constant dense<0xFF800000> : tensor<f32>
  %sums = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x30xf32>, tensor<f32>) -> tensor<256xf32>
  %negated = hlo.negate %sums : tensor<256xf32>
  %most = hlo.reduce(%negated init: %lowest) applies hlo.maximum across dimensions = [0] : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
  %spread = hlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<256xf32>
  %shifted = hlo.subtract %negated, %spread : tensor<256xf32>
  %powers = hlo.exponential %shifted : tensor<256xf32>
  %total = hlo.reduce(%powers init: %zero) applies hlo.add across dimensions = [0] : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
  %totals = hlo.broadcast_in_dim %total, dims = [] : (tensor<f32>) -> tensor<256xf32>
  %result = hlo.divide %powers, %totals : tensor<256xf32>
  return %result : tensor<256xf32>
}
