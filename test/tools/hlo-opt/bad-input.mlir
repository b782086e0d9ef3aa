// Mistakes end with a message and a status, never with a traceback.
// RUN: %not hlo-opt --no-such-pass %s 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: %not hlo-opt --canonicalize=bogus=1 %s 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: %not hlo-opt --pass-pipeline='cse{' %s 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: %not hlo-opt --compile-to=nowhere %s 2>&1 | FileCheck %s --check-prefix=PHASE
// RUN: %not hlo-opt %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: %not hlo-opt %s -o %t.no/such/folder 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: %not hlo-opt %s extra 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: %not hlo-opt %S/Inputs/unexpected.mlir 2>&1 | FileCheck %s --check-prefix=PARSE
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s --check-prefix=BYTECODE
// RUN: head -c 60 %t.bc > %t.cut && %not hlo-opt %t.cut 2>&1 | FileCheck %s --check-prefix=CUT

// PASS: there is no pass 'no-such-pass'
// OPTION: no such option bogus
// PIPELINE: the '{' at position 3 of the pipeline 'cse{' is never closed
// PHASE: expected a phase, found 'nowhere'; the phases are: input, legalized
// MISSING: cannot read {{.*}}: No such file or directory
// UNWRITABLE: cannot write {{.*}}: No such file or directory
// USAGE: unrecognized arguments: extra
// PARSE: hlo-opt: error: {{.*}}unexpected.mlir{{.*}}:2:10{{.*}}: use of undeclared SSA value name
// BYTECODE: func.func @main
// CUT: hlo-opt: error:
func.func @main() {
  return
}
