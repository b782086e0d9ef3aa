// A program for a GPU runs on the emulated device, blocks and warps in order, backwards or at random.
// RUN: hlo-run %s --target=nvptx:sm_80 --emulate --arg='f32[3]=1,2,3' --check=reference | FileCheck %s
// RUN: hlo-run %s --target=nvptx:sm_90 --emulate=7 --arg='f32[3]=1,2,3' --check=reference | FileCheck %s
// RUN: not hlo-run %s --emulate --arg='f32[3]=1,2,3' 2>&1 | FileCheck %s --check-prefix=CPU

// CHECK: result 0: float32[3] = [2. 4. 6.]
// CHECK: check 0: match
// CPU: hlo-run: error: option emulate: the target 'cpu' is not emulated but run
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "hlo.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
