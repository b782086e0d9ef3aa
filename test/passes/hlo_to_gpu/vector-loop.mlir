// Elementwise code moves 16 bytes at a time, a thread four elements of f32.
// RUN: hlo-opt --target=nvptx:sm_80 --emit=gpu %s | FileCheck %s
// RUN: hlo-opt --target=nvptx:sm_80 --emit=ptx %s | FileCheck %s --check-prefix=PTX

// 8192 elements are 2048 threads: every thread has something to do, no bounds are checked.
// CHECK-LABEL: func.func @add_0(%in0: memref<8192xf32>
// CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 256>
// CHECK: nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 8>
// CHECK-NOT: scf.if
// CHECK: vector.load %in0{{.*}} vector<4xf32>
// CHECK: vector.store {{.*}} %out0{{.*}} vector<4xf32>

// PTX: .visible .entry add_0(
// PTX: .reqntid 256, 1, 1
// PTX-COUNT-2: ld.global.v4.b32
// PTX: add.rn.f32
// PTX: st.global.v4.b32

func.func @main(%a: tensor<8192xf32>, %b: tensor<8192xf32>) -> tensor<8192xf32> {
  %0 = "hlo.add"(%a, %b) : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
}
