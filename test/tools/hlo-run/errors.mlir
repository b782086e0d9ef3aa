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

// NONE: the program takes 1 arguments (float32[4]): give --args, --arg, --spec or --seed
// SHAPE: argument 0: expected float32[4], found float32[]
// COUNT: the program takes 1 arguments, found 2
// VALUE: could not convert string to float: 'x'
// FILE: cannot read arguments from
// TARGET: 'abacus'
// PEER: invalid choice: 'abacus'
// OPTION: no_such_option
// PROGRAM: cannot read {{.*}}: No such file or directory
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
