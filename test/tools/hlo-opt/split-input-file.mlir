// Each part is a program of its own, and lines are counted in the whole file.
// RUN: hlo-opt --split-input-file %s | FileCheck %s
// RUN: hlo-opt --split-input-file --locations %s | FileCheck %s --check-prefix=LINES

// CHECK: func.func @first
// CHECK: // -----
// CHECK: func.func @first

// LINES: @first
// LINES: // -----
// LINES: return loc(#[[LOC:.*]])
// LINES: #[[LOC]] = loc({{.*}}:18:3)
func.func @first() {
  return
}
// -----
func.func @first() {
  return
}
