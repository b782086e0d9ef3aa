// What happens between passes can be printed, dumped and timed.
// RUN: hlo-opt --cse --print-ir-before=cse --print-ir-after=cse %s 2>&1 >%t.out | FileCheck %s
// RUN: hlo-opt --canonicalize --cse --print-ir-after-change %s 2>&1 >%t.out | FileCheck %s --check-prefix=CHANGE
// RUN: hlo-opt --canonicalize --cse --print-ir-after-all %s 2>&1 >%t.out | FileCheck %s --check-prefix=ALL
// RUN: rm -rf %t.d && hlo-opt --cse --canonicalize --dump-dir=%t.d %s -o %t.out && ls %t.d | FileCheck %s --check-prefix=DUMP
// RUN: hlo-opt --cse --timing %s 2>&1 >%t.out | FileCheck %s --check-prefix=TIMING

// CHECK: IR before cse
// CHECK-COUNT-2: arith.addi
// CHECK: IR after cse
// CHECK-COUNT-1: arith.addi
// CHECK-NOT: arith.addi

// CHANGE-NOT: IR after canonicalize
// CHANGE: IR after cse

// ALL: IR after canonicalize
// ALL: IR after cse

// DUMP: 00-input.mlir
// DUMP-NEXT: 01-cse.mlir
// DUMP-NEXT: 02-canonicalize.mlir

// TIMING: seconds share pass
// TIMING-NEXT: {{[0-9.]+}} 100.0% cse
// TIMING-NEXT: total
func.func @main(%a: i32) -> (i32, i32) {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  return %0, %1 : i32, i32
}
