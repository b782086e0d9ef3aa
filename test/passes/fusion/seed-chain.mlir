// The sum of sin(2 x) + 1 reads x once and writes one float: 15000 x 4 + 4 bytes, too few to be split.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK-NOT: not fused because
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}58.59 KiB {{ *}}4 B {{.*}}[reduce]
// CHECK: traffic fused: 60004 bytes
// CHECK: traffic floor: 60004 bytes
// CHECK: fused above floor: 0.00%

module @seed_chain {
  func.func public @main(%arg0: tensor<15000xf32>) -> (tensor<f32>) {
    %cst = hlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<15000xf32>
    %1 = hlo.multiply %arg0, %0 : tensor<15000xf32>
    %2 = hlo.sine %1 : tensor<15000xf32>
    %cst_0 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<15000xf32>
    %4 = hlo.add %2, %3 : tensor<15000xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = hlo.reduce(%4 init: %cst_1) applies hlo.add across dimensions = [0] : (tensor<15000xf32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
