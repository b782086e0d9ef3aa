// What a branch reads from around it is made ahead of it, also if it is a result of arguments alone, which come last otherwise.
// RUN: hlo-opt --compile-to=fused %s | FileCheck %s

// CHECK: hlo.exponential
// CHECK: "hlo.if"
// CHECK: return
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %p: tensor<i1>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %0 = hlo.exponential %a : tensor<1024xf32>
  %1 = "hlo.if"(%p) ({
    %2 = hlo.add %0, %b : tensor<1024xf32>
    hlo.return %2 : tensor<1024xf32>
  }, {
    hlo.return %b : tensor<1024xf32>
  }) : (tensor<i1>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024xf32>, tensor<1024xf32>
}
