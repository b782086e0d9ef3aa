// RUN: hlo-run %s --seed=0 --profile=2 | FileCheck %s
// RUN: hlo-run %s --seed=0 --profile=2 --json | FileCheck %s --check-prefix=JSON
// RUN: not hlo-run %s --seed=0 --profile=-1 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not hlo-run %s --seed=0 --profile --target=nvptx:sm_80 --emulate 2>&1 | FileCheck %s --check-prefix=GPU

// CHECK: ms a run, mean of 2
// CHECK-NEXT: share us calls us a call est. us GB/s GFLOP/s kernel
// CHECK-NEXT: % {{.*}} 1 {{.*}} sine_0 [op] #0 profile.mlir:{{[0-9]+}} ({{compute|launch}})
// CHECK-NEXT: %  between kernels

// JSON: "profile": {"version": 1, "seconds": {{.*}}, "runs": 2, "kernels": [{"name": "sine
// BAD: hlo-run: --profile: expected a number of runs, found -1
// GPU: --profile: only programs for the target 'cpu' have a profile
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = hlo.sine %x : tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
