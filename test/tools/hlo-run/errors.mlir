// Mistakes end with a message that says what was expected and what was found.
// RUN: %not hlo-run %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %not hlo-run %s --arg=f32=1 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: %not hlo-run %s --arg='f32[4]=1' --arg=i32=1 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: %not hlo-run %s --arg='f32[4]=x' 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: %not hlo-run %s --args=%t.missing.npz 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: %not hlo-run %s --seed=0 --target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: %not hlo-run %s --seed=0 --check=abacus 2>&1 | FileCheck %s --check-prefix=PEER
// RUN: %not hlo-run %s --seed=0 --option=no-such-option=1 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: %not hlo-run %t.missing.mlir --seed=0 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: %not hlo-run %s --seed=-1 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: %not hlo-run %s --seed=0 --check=reference --rtol=nan 2>&1 | FileCheck %s --check-prefix=RTOL
// RUN: %not hlo-run %s --seed=0 --option=threads=99999999999999999999 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: %not hlo-run %s --seed=0 -o %S 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: hlo-run %s --seed=0 -o %t.results
// RUN: hlo-run %s --args=%t.results | FileCheck %s --check-prefix=NAMED

// NONE: the program takes 1 arguments (float32[4]): give --args, --arg, --spec or --seed
// SHAPE: argument 0: expected float32[4], found float32[]
// COUNT: the program takes 1 arguments, found 2
// VALUE: could not convert string to float: 'x'
// FILE: cannot read arguments from
// TARGET: 'abacus'
// PEER: invalid choice: 'abacus'
// OPTION: no_such_option
// PROGRAM: cannot read {{.*}}: No such file or directory
// SEED: --seed: expected a number from 0, found '-1'
// RTOL: --rtol: expected a number from 0, found 'nan'
// THREADS: error: option threads: expected a number of threads
// OUTPUT: error: cannot write {{.*}}: Is a directory
// NAMED: result 0: float32[4] =
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
