// StableHLO in and out, in every form; the way back gives what went in.
// RUN: hlo-translate --to=hlo %s | FileCheck %s --check-prefix=HLO
// RUN: hlo-translate --to=hlo %s | hlo-translate --to=stablehlo | FileCheck %s
// RUN: hlo-translate --to=stablehlo-generic %s | hlo-translate --to=stablehlo | FileCheck %s
// RUN: hlo-translate --to=stablehlo-bytecode %s -o %t.bc && hlo-translate --to=stablehlo %t.bc | FileCheck %s
// RUN: hlo-translate --to=hlo-bytecode %s -o %t.hlo.bc && hlo-translate --to=stablehlo %t.hlo.bc | FileCheck %s
// RUN: hlo-translate --to=portable-artifact --stablehlo-version=1.9.0 %s -o %t.art && hlo-translate %t.art | FileCheck %s --check-prefix=ARTIFACT
// RUN: hlo-translate --to=hlo-generic --locations %s | FileCheck %s --check-prefix=LOCATIONS
// RUN: hlo-opt --compile-to=fused %s | hlo-translate --to=stablehlo | FileCheck %s --check-prefix=FUSED

// HLO: hlo.erf
// HLO: hlo.add
// HLO-NOT: stablehlo.{{[a-z_]+}} %

// CHECK: chlo.erf %{{.*}} : tensor<4xf32> -> tensor<4xf32>
// CHECK: stablehlo.add
// CHECK: stablehlo.custom_call @Sharding(%{{.*}}) {backend_config = "stablehlo.add"}

// ARTIFACT: hlo.add

// LOCATIONS: "hlo.add"{{.*}} loc(#[[LOC:.*]])
// LOCATIONS: #[[LOC]] = loc("{{.*}}stablehlo.mlir":{{[0-9]+}}:10)

// FUSED-NOT: fusion
// FUSED: chlo.erf
// FUSED: stablehlo.add
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
    %1 = stablehlo.add %0, %x : tensor<4xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "stablehlo.add"} : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
