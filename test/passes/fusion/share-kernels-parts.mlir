// Of two kernels that add rows one slices both, the other only one: what is left of them is the same, what was taken out is not.
// RUN: hlo-opt --share-kernels %s | FileCheck %s

// CHECK: "hlo.fusion"(%arg0)
// CHECK: hlo.slice
// CHECK: hlo.slice
// CHECK: "hlo.fusion"(%arg0, %arg1)
// CHECK: hlo.slice
func.func @main(%x: tensor<4x16xf32>, %y: tensor<1x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>) {
  %0 = "hlo.fusion"(%x) <{kind = "loop", name = "a"}> ({
  ^bb0(%a: tensor<4x16xf32>):
    %s = hlo.slice %a [0:1, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %t = hlo.slice %a [1:2, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %u = hlo.add %s, %t : tensor<1x16xf32>
    hlo.return %u : tensor<1x16xf32>
  }) : (tensor<4x16xf32>) -> tensor<1x16xf32>
  %1 = "hlo.fusion"(%x, %y) <{kind = "loop", name = "b"}> ({
  ^bb0(%a: tensor<4x16xf32>, %b: tensor<1x16xf32>):
    %s = hlo.slice %a [2:3, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %u = hlo.add %b, %s : tensor<1x16xf32>
    hlo.return %u : tensor<1x16xf32>
  }) : (tensor<4x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  return %0, %1 : tensor<1x16xf32>, tensor<1x16xf32>
}
