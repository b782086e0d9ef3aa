// A program runs with arguments from the command line, a file, or a seed, and is checked.
// RUN: hlo-run %s --arg='f32[4]=1,2,3,4' --arg=i32=7 | FileCheck %s
// RUN: hlo-run %s --arg='dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>' --arg=i32=7 -o %t.npz | FileCheck %s
// RUN: hlo-run %s --seed=0 --check=reference --check-results=0,1 | FileCheck %s --check-prefix=MATCH
// RUN: hlo-run %s --seed=0 --check=jax --time=2 --json | FileCheck %s --check-prefix=JSON
// RUN: rm -rf %t.cache
// RUN: hlo-run %s --seed=0 --cache --cache-dir=%t.cache | FileCheck %s --check-prefix=COLD
// RUN: hlo-run %s --seed=0 --cache --cache-dir=%t.cache | FileCheck %s --check-prefix=WARM
// RUN: hlo-cache show --cache-dir=%t.cache | FileCheck %s --check-prefix=SHOW
// RUN: hlo-cache clear --cache-dir=%t.cache | FileCheck %s --check-prefix=CLEAR
// RUN: hlo-run %s --seed=0 --cache --cache-dir=%t.cache | FileCheck %s --check-prefix=COLD
// RUN: hlo-run %s --spec=%S/Inputs/spec.json --strict --check=reference | FileCheck %s

// CHECK: result 0: float32[4] = [2. 4. 6. 8.]
// CHECK: result 1: int32[] = 49
// CHECK: run: compiled in

// MATCH: check 0: match of 4
// MATCH: check 1: match of 1

// COLD: run: compiled in {{[0-9.]+}} s;
// WARM: run: compiled in {{[0-9.]+}} s from the cache;
// A program with its kernel in it, and the compiler; no text, since hlo-run gives the compiler a module.
// SHOW: run.mlir.tmp.cache: 2 files, {{[0-9.]+}} {{K?}}iB of 3.81 GiB
// CLEAR: removed 2 files

// JSON: {"name": "run", "compile_s": {{[0-9.e-]+}}, "run_ms": {{[0-9.e-]+}}, "peer": {"name": "xla:cpu", "compile_s": {{[0-9.e-]+}}, "run_ms": {{[0-9.e-]+}}}, "max_abs_err": 0.0, "max_rel_err": 0.0, "mismatches": 0, "kernels": {{[0-9]+}}, "arena_bytes": {{[0-9]+}}, "argument_bytes": 20, "result_bytes": 20, "alias_bytes": 0, "cache": "off"}
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
  %0 = "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "hlo.multiply"(%n, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<4xf32>, tensor<i32>
}
