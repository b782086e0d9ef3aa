// Expected errors account for what goes wrong, and nothing else may.
// RUN: hlo-opt --split-input-file --verify-diagnostics %s
// RUN: %not hlo-opt --verify-diagnostics %S/Inputs/unmet.mlir 2>&1 | FileCheck %s
// RUN: %not hlo-opt --verify-diagnostics %S/Inputs/unexpected.mlir 2>&1 | FileCheck %s --check-prefix=UNEXPECTED

// CHECK: line 2: expected error at line 3 was not produced: never said
// UNEXPECTED: line 2: unexpected error: {{.*}}undeclared SSA value name

func.func @same_line() -> i32 {
  return %a : i32 // expected-error {{use of undeclared SSA value name}}
}

// -----

func.func @next_line(%a: i32) -> f32 {
  // expected-error-re @below {{type of return operand 0 ('{{i[0-9]+}}') doesn't match function result type}}
  return %a : i32
}

// -----

func.func @nothing_wrong() {
  return
}
