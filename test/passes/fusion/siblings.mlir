// Reductions of what one tensor holds share a kernel and its loop: x and y are read once. 2 x 1024000 bytes and 3 x 4000.
// RUN: hlo-opt --explain-fusion --disable-pass=split-reductions %s | FileCheck %s
// RUN: hlo-opt --fuse %s | FileCheck %s --check-prefix=IR

// CHECK: reduce ({{.*}}) -> reduce ({{.*}}): fused because both read what the caller makes: once for both
// CHECK: kernels: 1{{$}}
// CHECK: {{\[reduce\]}}
// CHECK: traffic fused: 2060000 bytes

// IR-LABEL: func.func @main
// IR: "hlo.fusion"(%arg0, %arg1) <{kind = "reduce"
// IR-COUNT-3: hlo.reduce
// IR: return
func.func @main(%x: tensor<256x1000xf32>, %y: tensor<256x1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  %1 = hlo.multiply %x, %y : tensor<256x1000xf32>
  %2 = hlo.reduce(%1 init: %z) applies hlo.add across dimensions = [0] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  %3 = hlo.reduce(%y init: %low) applies hlo.maximum across dimensions = [0] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  return %0, %2, %3 : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
}

// Other dimensions are other loops.
// IR-LABEL: func.func private @rows_and_columns
// IR-NOT: hlo.fusion
// IR: return
func.func private @rows_and_columns(%x: tensor<256x256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %0, %1 : tensor<256xf32>, tensor<256xf32>
}

// Elementwise kernels of one tensor are siblings too; the sort that reads the first result comes after both.
// IR-LABEL: func.func private @loops
// IR: %[[BOTH:.*]]:2 = "hlo.fusion"(%arg0) <{kind = "loop"
// IR: "hlo.sort"(%[[BOTH]]#1)
// IR: return
func.func private @loops(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = hlo.abs %x : tensor<64x64xf32>
  %s = "hlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = hlo.negate %x : tensor<64x64xf32>
  %3 = hlo.exponential %2 : tensor<64x64xf32>
  return %s, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}
