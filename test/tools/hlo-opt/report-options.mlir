// RUN: %not hlo-opt --explain-fusion --compile-to=fused %s 2>&1 | FileCheck %s --check-prefix=PHASE
// RUN: %not hlo-opt --view-graph=graph.png %s 2>&1 | FileCheck %s --check-prefix=PNG
// RUN: %not hlo-opt --explain-memory --donate=x %s 2>&1 | FileCheck %s --check-prefix=DONATE
// RUN: %not hlo-opt --explain-memory --donate=1 %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: hlo-opt --explain-fusion --disable-pass=fuse,fuse-horizontally,join-small-steps %s | FileCheck %s --check-prefix=UNFUSED
// RUN: hlo-opt --explain-fusion --report-json %s | FileCheck %s --check-prefix=JSON

// PHASE: a report compiles the program itself: leave --compile-to out
// PNG: --view-graph: expected a .html or .svg file, found graph.png
// DONATE: --donate: expected numbers of arguments, found 'x'
// MISSING: hlo-opt: error: option donate:

// UNFUSED: edges: 0
// UNFUSED: kernels: 2

// JSON: "producer": "negate"
// JSON: "producer_source": "{{.*}}report-options.mlir:[[#@LINE+7]]"
// JSON: "reason": "all its readers are in this kernel"
// JSON: "traffic": {
// JSON-NEXT: "unfused": 128,
// JSON-NEXT: "fused": 64,
// JSON-NEXT: "copied": 0,
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.negate %x : tensor<8xf32>
  %1 = hlo.exponential %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
