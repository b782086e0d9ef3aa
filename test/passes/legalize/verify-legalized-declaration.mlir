// A function without a body is an error that names it and its place.
// RUN: %not hlo-opt --verify-legalized %s 2>&1 | FileCheck %s

// CHECK: verify-legalized-declaration.mlir":6:1
// CHECK-SAME: 'func.func': is declared without a body; expected one to compile
func.func private @main(tensor<4xf32>) -> tensor<4xf32>
