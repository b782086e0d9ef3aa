// Large products on sm_90a are by warpgroups, of tiles that one lane of the last warp copies in bulk.
// RUN: hlo-opt --target=nvptx:sm_90a --emit=ptx %s | FileCheck %s
// RUN: hlo-opt --target=nvptx:sm_90a --emit=plan %s | FileCheck %s --check-prefix=PLAN
// RUN: hlo-opt --target=nvptx:sm_90 --emit=ptx %s | FileCheck %s --check-prefix=WARPS

// RUN: hlo-opt --target=nvptx:sm_90a --explain-fusion %s | FileCheck %s --check-prefix=WHY

// 64 x 64 elements a block: one warpgroup and a warp, 4 x (64 + 64) x 128 bytes of tiles, 8 barriers.
// CHECK: .extern .shared .align 1024 .b8
// CHECK: .param .align 64 .b8 {{.*}}[128]
// CHECK: .reqntid 160, 1, 1
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: bar.sync 0;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, {{.*}}, 16384;
// CHECK-COUNT-2: cp.async.bulk.tensor.2d
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0, 1; }
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: abs.f32
// CHECK: st.global

// PLAN: tensor map of buffer 0: bf16 512 x 256, strides 1024, tiles 64 x 64, swizzle 128
// PLAN: tensor map of buffer 1: bf16 384 x 512, strides 768, tiles 64 x 64, swizzle 128
// PLAN: launch {{.*}} grid=24x1x1 block=160x1x1 shared=65600

// WHY: kernel {{.*}}: products by warpgroups, 64 x 64 tiles in 4 stages: about {{[0-9]+}} cycles, by warps {{[0-9]+}}

// WARPS-NOT: wgmma
// WARPS: mma.sync

func.func @main(%a: tensor<256x512xbf16>, %b: tensor<512x384xbf16>) -> tensor<256x384xf32> {
  %0 = "hlo.dot_general"(%a, %b) {dot_dimension_numbers = #hlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<256x512xbf16>, tensor<512x384xbf16>) -> tensor<256x384xf32>
  %1 = "hlo.abs"(%0) : (tensor<256x384xf32>) -> tensor<256x384xf32>
  return %1 : tensor<256x384xf32>
}
