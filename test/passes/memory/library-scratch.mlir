// What library functions work in is placed with the buffers, and has a name and a place. Transforms
// of both dimensions, one after the other, are one call. A Cholesky factor is made in its result.
// RUN: hlo-opt --explain-memory %s | FileCheck %s

// CHECK: buffers:
// CHECK: scratch of sort  library-scratch.mlir:12{{$}}
// CHECK: scratch of fft  library-scratch.mlir:11{{$}}
// CHECK-NOT: scratch of
func.func @main(%x: tensor<64x64xcomplex<f32>>, %y: tensor<5000xf32>, %a: tensor<40x40xf64>)
    -> (tensor<64x64xcomplex<f32>>, tensor<5000xf32>, tensor<40x40xf64>) {
  %f = "hlo.fft"(%x) {fft_type = #hlo<fft_type FFT>, fft_length = array<i64: 64, 64>} : (tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>>
  %s = "hlo.sort"(%y) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = "hlo.compare"(%l, %r) {comparison_direction = #hlo<comparison_direction LT>, compare_type = #hlo<comparison_type TOTALORDER>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "hlo.return"(%c) : (tensor<i1>) -> ()
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5000xf32>) -> tensor<5000xf32>
  %l = "hlo.cholesky"(%a) {lower = true} : (tensor<40x40xf64>) -> tensor<40x40xf64>
  return %f, %s, %l : tensor<64x64xcomplex<f32>>, tensor<5000xf32>, tensor<40x40xf64>
}
