// With `fast`, x * 0 is 0 even of NaN: of all the program, only that product is left.
// RUN: hlo-reduce %s --arg='f32[4]=nan,1,2,3' --arg='f32[4]=1,2,3,4' --option=fast=true -o %t.mlir | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s < %t.mlir
// RUN: %not hlo-run %t.mlir --args=%t.npz --check=reference --option=fast=true | FileCheck %s --check-prefix=STILL
// RUN: hlo-run %t.mlir --args=%t.npz --check=reference

// SAID: 7 operations, 2 arguments reduced to 2, 1:
// CHECK: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: hlo.constant
// CHECK-NEXT: hlo.multiply
// CHECK-NEXT: return
// STILL: 1 MISMATCHES of 4

// A command of one's own, and what its output must hold.
// RUN: hlo-reduce %s --arg='f32[4]=nan,1,2,3' --arg='f32[4]=1,2,3,4' --command='hlo-opt --no-such-pass' --match=no-such-pass --tries=2 -o %t.other.mlir | FileCheck %s --check-prefix=OWN
// OWN: 7 operations, 2 arguments reduced to

// RUN: %not hlo-reduce %s --seed=0 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: hlo-reduce: error: nothing to reduce: {{.*}} ended with status 0
// Mistakes are said before any work is done.
// RUN: %not hlo-reduce %s --seed=0 -o %S 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: %not hlo-reduce %s --seed=0 -o %t.npz 2>&1 | FileCheck %s --check-prefix=BESIDE
// RUN: %not hlo-reduce %s --seed=0 -o %t/missing/small.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: %not hlo-reduce %s --seed=0 -o %t.mlir --match='(' 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: %not hlo-reduce %s --seed=0 -o %t.mlir --command='"a' 2>&1 | FileCheck %s --check-prefix=WORDS
// FOLDER: hlo-reduce: cannot write {{.*}}: it is a folder
// BESIDE: hlo-reduce: -o: expected a file such as small.mlir
// MISSING: hlo-reduce: cannot write {{.*}}missing cannot be written to
// PATTERN: hlo-reduce: --match: expected a regular expression, found '('
// WORDS: hlo-reduce: --command: cannot read '"a': No closing quotation
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %a = hlo.add %x, %y : tensor<4xf32>
  %b = hlo.negate %a : tensor<4xf32>
  %c = hlo.multiply %b, %zero : tensor<4xf32>
  %d = hlo.add %c, %y : tensor<4xf32>
  %e = hlo.sine %d : tensor<4xf32>
  %f = hlo.cosine %y : tensor<4xf32>
  return %e, %f : tensor<4xf32>, tensor<4xf32>
}
