// An archive of torch.export.save is read without PyTorch: parameters first, then the user's tensors.
// RUN: hlo-translate %S/../../e2e/pytorch/data/counter.pt2 | FileCheck %s
// RUN: hlo-translate --to=stablehlo %S/../../e2e/pytorch/data/counter.pt2 | FileCheck %s --check-prefix=STABLEHLO
// RUN: echo "no archive" > %t.pt2
// RUN: %not hlo-translate %t.pt2 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: func.func public @main(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<2xf32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<4x3xf32>) -> (tensor<i64>, tensor<4x2xf32>, tensor<i64>)
// CHECK: hlo.dot_general
// STABLEHLO: stablehlo.dot_general
// ERROR: expected the input to be an archive written by torch.export.save
