// What cannot be translated is told.
// RUN: %not hlo-translate --to=stablehlo %s 2>&1 | FileCheck %s
// RUN: %not hlo-translate --to=hlo --stablehlo-version=1.9.0 %s 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: %not hlo-translate --to=portable-artifact --stablehlo-version=99.0.0 %S/Inputs/abs.mlir 2>&1 | FileCheck %s --check-prefix=NEWER

// CHECK: 'memref.dealloc': the program cannot be written as StableHLO
// VERSION: --stablehlo-version is for --to=portable-artifact
// NEWER: no portable artifact of StableHLO 99.0.0
func.func @main(%x: memref<4xf32>) {
  memref.dealloc %x : memref<4xf32>
  return
}
