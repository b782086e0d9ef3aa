// Passes are options of their own, in order, with their options in quotes; a pipeline's text is the same.
// RUN: hlo-opt --cse --canonicalize='max-iterations=3 top-down=false' %s | FileCheck %s
// RUN: hlo-opt --pass-pipeline='cse,canonicalize{max-iterations=3}' %s | FileCheck %s
// RUN: hlo-opt --pass-pipeline='func.func(cse,canonicalize)' %s | FileCheck %s
// RUN: hlo-opt --cse --canonicalize < %s | FileCheck %s
// RUN: hlo-opt --cse - < %s -o %t && FileCheck %s < %t
// RUN: hlo-opt --cse --disable-pass=cse %s | FileCheck %s --check-prefix=DISABLED
// RUN: hlo-opt --cse --canonicalize=max-iterations=3 --show-pipeline | FileCheck %s --check-prefix=SHOW

// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK-NOT: arith.addi
// CHECK: arith.muli %[[SUM]], %[[SUM]]

// DISABLED-COUNT-2: arith.addi

// SHOW: cse,
// SHOW-NEXT: canonicalize{max-iterations=3}
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
