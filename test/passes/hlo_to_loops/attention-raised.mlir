// Probabilities are multiplied by 2^24, those of f64 by 2^53, so that none is subnormal, and sums by its inverse, where no sum can overflow for it.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// Those that a mask leaves, if no value is large.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-DAG: %[[UP:.*]] = arith.constant 0x4B800000 : f32
// CHECK-DAG: %[[DOWN:.*]] = arith.constant 0x33800000 : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[UP]] : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[DOWN]] : f32
func.func @main(%q: tensor<32x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %m: tensor<32x64xi1>, %x: tensor<32x64xf32>) -> tensor<32x16xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<32x64xf32>
  %s = hlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<64x16xf32>) -> tensor<32x64xf32>
  %peak = hlo.reduce(%s init: %low) applies hlo.maximum across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %peaks = hlo.broadcast_in_dim %peak, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %gap = hlo.subtract %s, %peaks : tensor<32x64xf32>
  %e = hlo.exponential %gap : tensor<32x64xf32>
  %total = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %totals = hlo.broadcast_in_dim %total, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %p = hlo.divide %e, %totals : tensor<32x64xf32>
  %f = hlo.select %m, %p, %zeros : tensor<32x64xi1>, tensor<32x64xf32>
  %r = hlo.dot_general %f, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %r : tensor<32x16xf32>
}

// -----

// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-DAG: %[[UP:.*]] = arith.constant 0x4340000000000000 : f64
// CHECK-DAG: %[[DOWN:.*]] = arith.constant 0x3CA0000000000000 : f64
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[UP]] : f64
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[DOWN]] : f64
func.func @main(%q: tensor<32x16xf64>, %k: tensor<64x16xf64>, %v: tensor<64x16xf64>, %m: tensor<32x64xi1>, %x: tensor<32x64xf64>) -> tensor<32x16xf64> {
  %low = hlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %zero = hlo.constant dense<0.0> : tensor<f64>
  %zeros = hlo.constant dense<0.0> : tensor<32x64xf64>
  %s = hlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x16xf64>, tensor<64x16xf64>) -> tensor<32x64xf64>
  %peak = hlo.reduce(%s init: %low) applies hlo.maximum across dimensions = [1] : (tensor<32x64xf64>, tensor<f64>) -> tensor<32xf64>
  %peaks = hlo.broadcast_in_dim %peak, dims = [0] : (tensor<32xf64>) -> tensor<32x64xf64>
  %gap = hlo.subtract %s, %peaks : tensor<32x64xf64>
  %e = hlo.exponential %gap : tensor<32x64xf64>
  %total = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x64xf64>, tensor<f64>) -> tensor<32xf64>
  %totals = hlo.broadcast_in_dim %total, dims = [0] : (tensor<32xf64>) -> tensor<32x64xf64>
  %p = hlo.divide %e, %totals : tensor<32x64xf64>
  %f = hlo.negate %p : tensor<32x64xf64>
  %r = hlo.dot_general %f, %v, contracting_dims = [1] x [0] : (tensor<32x64xf64>, tensor<64x16xf64>) -> tensor<32x16xf64>
  return %r : tensor<32x16xf64>
}

// -----

// A row at a time: sums that are no numbers are computed again without.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-DAG: %[[UP:.*]] = arith.constant dense<0x4B800000> : vector<16xf32>
// CHECK-DAG: %[[DOWN:.*]] = arith.constant dense<0x33800000> : vector<16xf32>
// CHECK: arith.mulf %{{.*}}, %[[UP]]
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: arith.mulf %{{.*}}, %[[DOWN]]
// CHECK: else
// CHECK: arith.mulf %{{.*}}, %[[DOWN]]
func.func @main(%q: tensor<1x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %m: tensor<1x64xi1>, %x: tensor<1x64xf32>) -> tensor<1x16xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<1x64xf32>
  %s = hlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<1x16xf32>, tensor<64x16xf32>) -> tensor<1x64xf32>
  %peak = hlo.reduce(%s init: %low) applies hlo.maximum across dimensions = [1] : (tensor<1x64xf32>, tensor<f32>) -> tensor<1xf32>
  %peaks = hlo.broadcast_in_dim %peak, dims = [0] : (tensor<1xf32>) -> tensor<1x64xf32>
  %gap = hlo.subtract %s, %peaks : tensor<1x64xf32>
  %e = hlo.exponential %gap : tensor<1x64xf32>
  %total = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<1x64xf32>, tensor<f32>) -> tensor<1xf32>
  %totals = hlo.broadcast_in_dim %total, dims = [0] : (tensor<1xf32>) -> tensor<1x64xf32>
  %p = hlo.divide %e, %totals : tensor<1x64xf32>
  %f = hlo.negate %p : tensor<1x64xf32>
  %r = hlo.dot_general %f, %v, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x16xf32>) -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}

// -----

// Nothing says how large these are.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-NOT: 0x4B800000
// CHECK: return
func.func @main(%q: tensor<32x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %m: tensor<32x64xi1>, %x: tensor<32x64xf32>) -> tensor<32x16xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<32x64xf32>
  %s = hlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<64x16xf32>) -> tensor<32x64xf32>
  %peak = hlo.reduce(%s init: %low) applies hlo.maximum across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %peaks = hlo.broadcast_in_dim %peak, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %gap = hlo.subtract %s, %peaks : tensor<32x64xf32>
  %e = hlo.exponential %gap : tensor<32x64xf32>
  %total = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %totals = hlo.broadcast_in_dim %total, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %p = hlo.divide %e, %totals : tensor<32x64xf32>
  %f = hlo.multiply %p, %x : tensor<32x64xf32>
  %r = hlo.dot_general %f, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %r : tensor<32x16xf32>
}
