// Attention of few rows asks for rows of keys and values 16 keys, 4 KiB, ahead where they leave a core's own cache.
// RUN: hlo-opt --compile-to=host --split-input-file %s | FileCheck %s

// A row of a head is 64 elements, 4 lines, and one more where it does not begin at a line: of 16 keys together, then of one key's values.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-COUNT-80: memref.prefetch %in2[{{.*}}], read, locality<2>
// CHECK: vector.store
// CHECK-COUNT-5: memref.prefetch %in0[{{.*}}], read, locality<2>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%q: tensor<1x1x12x64xf32>, %k: tensor<1x1024x12x64xf32>, %v: tensor<1x1024x12x64xf32>) -> tensor<1x1x12x64xf32> {
    %63 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1x12x64xf32>, tensor<1x1024x12x64xf32>) -> tensor<1x12x1x1024xf32>
    %cst_17 = hlo.constant dense<0xFF800000> : tensor<f32>
    %66 = hlo.reduce(%63 init: %cst_17) applies hlo.maximum across dimensions = [3] : (tensor<1x12x1x1024xf32>, tensor<f32>) -> tensor<1x12x1xf32>
    %70 = hlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x12x1xf32>) -> tensor<1x12x1x1024xf32>
    %71 = hlo.subtract %63, %70 : tensor<1x12x1x1024xf32>
    %72 = hlo.exponential %71 : tensor<1x12x1x1024xf32>
    %cst_19 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %73 = hlo.reduce(%72 init: %cst_19) applies hlo.add across dimensions = [3] : (tensor<1x12x1x1024xf32>, tensor<f32>) -> tensor<1x12x1xf32>
    %75 = hlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x12x1xf32>) -> tensor<1x12x1x1024xf32>
    %76 = hlo.divide %72, %75 : tensor<1x12x1x1024xf32>
    %78 = hlo.dot_general %v, %76, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x12x64xf32>, tensor<1x12x1x1024xf32>) -> tensor<1x12x64x1xf32>
    %79 = hlo.transpose %78, dims = [0, 3, 1, 2] : (tensor<1x12x64x1xf32>) -> tensor<1x1x12x64xf32>
    return %79 : tensor<1x1x12x64xf32>
}

// -----

// Of eight rows the first brings them into the cache.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%q: tensor<1x8x12x64xf32>, %k: tensor<1x1024x12x64xf32>, %v: tensor<1x1024x12x64xf32>) -> tensor<1x8x12x64xf32> {
    %63 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x12x64xf32>, tensor<1x1024x12x64xf32>) -> tensor<1x12x8x1024xf32>
    %cst_17 = hlo.constant dense<0xFF800000> : tensor<f32>
    %66 = hlo.reduce(%63 init: %cst_17) applies hlo.maximum across dimensions = [3] : (tensor<1x12x8x1024xf32>, tensor<f32>) -> tensor<1x12x8xf32>
    %70 = hlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x12x8xf32>) -> tensor<1x12x8x1024xf32>
    %71 = hlo.subtract %63, %70 : tensor<1x12x8x1024xf32>
    %72 = hlo.exponential %71 : tensor<1x12x8x1024xf32>
    %cst_19 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %73 = hlo.reduce(%72 init: %cst_19) applies hlo.add across dimensions = [3] : (tensor<1x12x8x1024xf32>, tensor<f32>) -> tensor<1x12x8xf32>
    %75 = hlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x12x8xf32>) -> tensor<1x12x8x1024xf32>
    %76 = hlo.divide %72, %75 : tensor<1x12x8x1024xf32>
    %78 = hlo.dot_general %v, %76, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1024x12x64xf32>, tensor<1x12x8x1024xf32>) -> tensor<1x12x64x8xf32>
    %79 = hlo.transpose %78, dims = [0, 3, 1, 2] : (tensor<1x12x64x8xf32>) -> tensor<1x8x12x64xf32>
    return %79 : tensor<1x8x12x64xf32>
}

// -----

// 256 keys of 12 heads stay in the cache: 768 KiB.
// CHECK-LABEL: func.func @attention_fusion_0(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @main(%q: tensor<1x1x12x64xf32>, %k: tensor<1x256x12x64xf32>, %v: tensor<1x256x12x64xf32>) -> tensor<1x1x12x64xf32> {
    %63 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1x12x64xf32>, tensor<1x256x12x64xf32>) -> tensor<1x12x1x256xf32>
    %cst_17 = hlo.constant dense<0xFF800000> : tensor<f32>
    %66 = hlo.reduce(%63 init: %cst_17) applies hlo.maximum across dimensions = [3] : (tensor<1x12x1x256xf32>, tensor<f32>) -> tensor<1x12x1xf32>
    %70 = hlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x12x1xf32>) -> tensor<1x12x1x256xf32>
    %71 = hlo.subtract %63, %70 : tensor<1x12x1x256xf32>
    %72 = hlo.exponential %71 : tensor<1x12x1x256xf32>
    %cst_19 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %73 = hlo.reduce(%72 init: %cst_19) applies hlo.add across dimensions = [3] : (tensor<1x12x1x256xf32>, tensor<f32>) -> tensor<1x12x1xf32>
    %75 = hlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x12x1xf32>) -> tensor<1x12x1x256xf32>
    %76 = hlo.divide %72, %75 : tensor<1x12x1x256xf32>
    %78 = hlo.dot_general %v, %76, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x256x12x64xf32>, tensor<1x12x1x256xf32>) -> tensor<1x12x64x1xf32>
    %79 = hlo.transpose %78, dims = [0, 3, 1, 2] : (tensor<1x12x64x1xf32>) -> tensor<1x1x12x64xf32>
    return %79 : tensor<1x1x12x64xf32>
}
