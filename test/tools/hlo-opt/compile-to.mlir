// Each phase can be printed; late ones are a host program and a module of kernels.
// RUN: hlo-opt --compile-to=input %s | FileCheck %s --check-prefix=INPUT
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s --check-prefix=FUSED
// RUN: hlo-opt --compile-to=deallocated %s | FileCheck %s --check-prefix=HOST
// RUN: hlo-opt --compile-to=placed %s | FileCheck %s --check-prefix=PLACED
// RUN: hlo-opt --compile-to=llvm %s | FileCheck %s --check-prefix=LLVM
// RUN: hlo-opt --compile-to=placed %s | hlo-opt --split-input-file | FileCheck %s --check-prefix=PLACED
// RUN: %not hlo-opt --compile-to=host --emit-bytecode %s 2>&1 | FileCheck %s --check-prefix=TWO

// INPUT: hlo.sine
// INPUT-NOT: hlo.fusion

// FUSED: "hlo.fusion"
// FUSED: hlo.sine

// HOST: func.func @main(%{{.*}}: memref<262144xf32>, %{{.*}}: memref<4096xf32>)
// HOST: memref.alloc
// HOST: memref.dealloc
// HOST: // -----
// HOST: func.func @{{.*}}__packed

// PLACED: memref.alloc() {{{.*}}hlo.offset = 0

// LLVM: llvm.func @hlo_main
// LLVM: // -----
// LLVM: llvm.func @{{.*}}__packed

// TWO: --emit-bytecode writes one module
func.func @main(%x: tensor<64x4096xf32>) -> tensor<64x64xf32> {
  %y = "hlo.negate"(%x) : (tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %0 = "hlo.sine"(%y) : (tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %1 = "hlo.dot_general"(%0, %0) <{dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
