// A sum and the squared deviations from its mean, both in pieces: 65536 = 128 x 512, each piece about its own mean.
// RUN: hlo-opt --split-moments %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = hlo.reshape %arg0 : (tensor<65536x64xf32>) -> tensor<128x512x64xf32>
// CHECK: %[[P:.*]] = hlo.reduce(%[[R]] init: {{.*}}dimensions = [1] {hlo.partial} : {{.*}} -> tensor<128x64xf32>
// CHECK: hlo.reduce(%[[P]] init: {{.*}}dimensions = [0] : {{.*}} -> tensor<64xf32>
// CHECK: hlo.subtract %[[R]],
// CHECK: hlo.reduce({{.*}}dimensions = [1] {hlo.partial} : {{.*}} -> tensor<128x64xf32>
// CHECK: hlo.compare EQ
// CHECK: hlo.select
// CHECK: hlo.reduce({{.*}}dimensions = [0] : {{.*}} -> tensor<64xf32>
// CHECK: hlo.reduce({{.*}}dimensions = [0] : {{.*}} -> tensor<64xf32>
// CHECK: hlo.add
func.func @main(%x: tensor<65536x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<65536.0> : tensor<64xf32>
  %s = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0] : (tensor<65536x64xf32>, tensor<f32>) -> tensor<64xf32>
  %m = hlo.divide %s, %n : tensor<64xf32>
  %b = hlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<65536x64xf32>
  %d = hlo.subtract %x, %b : tensor<65536x64xf32>
  %q = hlo.multiply %d, %d : tensor<65536x64xf32>
  %v = hlo.reduce(%q init: %z) applies hlo.add across dimensions = [0] : (tensor<65536x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %m, %v : tensor<64xf32>, tensor<64xf32>
}

// Deviations from anything but the mean stay as they are: this one divides by 65535.
// CHECK-LABEL: func.func private @no_mean
// CHECK-NOT: hlo.partial
func.func private @no_mean(%x: tensor<65536x64xf32>) -> tensor<64xf32> {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<65535.0> : tensor<64xf32>
  %s = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0] : (tensor<65536x64xf32>, tensor<f32>) -> tensor<64xf32>
  %m = hlo.divide %s, %n : tensor<64xf32>
  %b = hlo.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<65536x64xf32>
  %d = hlo.subtract %x, %b : tensor<65536x64xf32>
  %q = hlo.multiply %d, %d : tensor<65536x64xf32>
  %v = hlo.reduce(%q init: %z) applies hlo.add across dimensions = [0] : (tensor<65536x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %v : tensor<64xf32>
}
