// A long sum is split so that all threads have work: partial sums, then their sum, in one launch.
// The partial sums are 128 floats, written and read: 2 x 512 bytes more than the floor of 16777216 x 4 + 4.
// RUN: hlo-opt --explain-fusion %s | FileCheck %s

// CHECK: reduce {{.*}} -> reduce {{.*}}: not fused because it is another step, of the launch that joins them
// CHECK: kernels: 1{{$}}
// CHECK: 1 {{ *}}64 MiB {{ *}}516 B {{.*}}[steps]
// CHECK: traffic fused: 67109892 bytes
// CHECK: traffic floor: 67108868 bytes
// CHECK: fused above floor: 0.00%

module @seed_chain_split {
  func.func public @main(%arg0: tensor<16777216xf32>) -> (tensor<f32>) {
    %cst = hlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = hlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16777216xf32>
    %1 = hlo.multiply %arg0, %0 : tensor<16777216xf32>
    %2 = hlo.sine %1 : tensor<16777216xf32>
    %cst_0 = hlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = hlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16777216xf32>
    %4 = hlo.add %2, %3 : tensor<16777216xf32>
    %cst_1 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = hlo.reduce(%4 init: %cst_1) applies hlo.add across dimensions = [0] : (tensor<16777216xf32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
