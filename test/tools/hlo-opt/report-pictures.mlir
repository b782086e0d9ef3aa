// The pictures are files that need nothing else: no address is fetched.
// RUN: hlo-opt --view-graph=%t.html --view-memory=%t-memory.html %s | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: FileCheck %s --check-prefix=GRAPH --input-file=%t.html
// RUN: FileCheck %s --check-prefix=MEMORY --input-file=%t-memory.html
// RUN: hlo-opt --view-graph=%t.svg %s
// RUN: FileCheck %s --check-prefix=SVG --input-file=%t.svg

// QUIET-NOT: {{.}}

// GRAPH: <!doctype html>
// GRAPH-NOT: {{(src|href)=}}
// GRAPH: >pictures</text>
// GRAPH: <g class='n'{{.*}}<title>argument 0
// GRAPH: <g class='n'{{.*}}<title>launch 1: dot_general
// GRAPH: >result 0</text>

// MEMORY: <!doctype html>
// MEMORY-NOT: {{(src|href)=}}
// MEMORY: <rect class='b'
// MEMORY-SAME: <title>{{.*}} at {{.*}}report-pictures.mlir:{{[0-9]+}}: 4 KiB (4096 bytes) at offset {{[0-9]+}}, live in steps [

// SVG: <?xml version="1.0"
// SVG: </svg>
module @pictures {
  func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %0 = hlo.exponential %x : tensor<32x32xf32>
    %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
}
