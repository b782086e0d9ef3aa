// A small kernel is a step of the launch that makes what it reads, the latest one.
// RUN: hlo-opt --fuse=gpu=true --join-last-steps %s | FileCheck %s
// RUN: hlo-opt --fuse=gpu=true --join-last-steps='most_bytes=4099' %s | FileCheck %s --check-prefix=FEW
// RUN: hlo-opt --target=nvptx:sm_80 %s | FileCheck %s --check-prefix=PLAN
// RUN: hlo-opt --target=nvptx:sm_80 --emit=gpu %s | FileCheck %s --check-prefix=GPU
// RUN: hlo-opt --target=nvptx:sm_80 --emit=ptx %s | FileCheck %s --check-prefix=PTX

// CHECK-LABEL: func.func @main
// CHECK: "hlo.fusion"(%arg0) <{kind = "steps"
// CHECK: hlo.tanh
// CHECK: hlo.reduce
// CHECK: hlo.sqrt
// CHECK: hlo.reason = "a small kernel is a step of the last block of what it waits for"
// CHECK-NEXT: return

// The sum reads 4096 bytes and writes 4.
// FEW-NOT: kind = "steps"
// FEW: func.func private @ready

// CHECK-LABEL: func.func private @later
// CHECK: hlo.tanh
// CHECK: kind = "steps"
// CHECK: hlo.cosine
// CHECK: hlo.reduce

// Kernels that wait for nothing share the first one's launch; the sum of both is its last step.
// CHECK-LABEL: func.func private @ready
// CHECK: hlo.tanh
// CHECK: hlo.cosine
// CHECK: hlo.reduce
// CHECK: hlo.reason = "a small kernel is a step of the last block of what it waits for"
// CHECK-NEXT: hlo.negate

// Constants are no launches to wait for; they are brought ahead of those that read them, once.
// CHECK-LABEL: func.func private @constants
// CHECK-DAG: hlo.constant dense<1>
// CHECK-DAG: hlo.constant dense<2>
// CHECK: "hlo.fusion"(%arg0
// CHECK-SAME: kind = "horizontal"
// CHECK-COUNT-3: hlo.add
// CHECK: hlo.reason = "3 small kernels that wait for nothing"
// CHECK-NEXT: hlo.negate

// 1024 threads, one an element: four blocks. The counter has 64 bytes, as alignment asks.
// PLAN: constant 0: tensor<16xi32>
// PLAN: launch {{.*}} grid=4x1x1 block=256x1x1 (argument 0[0:4096], result 0[0:4096], result 1[0:4], constant 0[0:4])
// PLAN-NOT: launch

// The block that counts 3 others goes on; a warp adds up.
// GPU: func.func @tanh_and_1_more_0(
// GPU: func.call @tanh_and_1_more_0__member0(
// GPU: %[[LAST:.*]] = arith.constant 3 : i32
// GPU: nvvm.barrier0
// GPU: fence.acq_rel.gpu;
// GPU: llvm.atomicrmw uinc_wrap {{.*}}, %[[LAST]] syncscope("device")
// GPU: fence.acq_rel.gpu;
// GPU: nvvm.barrier0
// GPU: %[[IS_LAST:.*]] = arith.cmpi eq, {{.*}}, %[[LAST]] : i32
// GPU: scf.if %[[IS_LAST]]
// GPU: func.call @tanh_and_1_more_0__member1(

// Few blocks leave registers to each other, however few threads would be resident then.
// PTX: .entry tanh_and_1_more_0(
// PTX: .minnctapersm 1

func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %t = hlo.tanh %x : tensor<1024xf32>
  %s = hlo.reduce(%t init: %zero) applies hlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %r = hlo.sqrt %s : tensor<f32>
  return %t, %r : tensor<1024xf32>, tensor<f32>
}
func.func private @later(%x: tensor<4096xf32>, %z: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %t = hlo.tanh %x : tensor<4096xf32>
  %c = hlo.cosine %z : tensor<4096xf32>
  %a = hlo.add %t, %c : tensor<4096xf32>
  %s = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  return %t, %c, %s : tensor<4096xf32>, tensor<4096xf32>, tensor<f32>
}
func.func private @ready(%x: tensor<64xf32>, %y: tensor<32xf32>, %z: tensor<100000xf32>) -> (tensor<64xf32>, tensor<32xf32>, tensor<f32>, tensor<100000xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %t = hlo.tanh %x : tensor<64xf32>
  %n = hlo.negate %z : tensor<100000xf32>
  %c = hlo.cosine %y : tensor<32xf32>
  %s = hlo.reduce(%t init: %zero) applies hlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %u = hlo.reduce(%c init: %zero) applies hlo.add across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
  %a = hlo.add %s, %u : tensor<f32>
  return %t, %c, %a, %n : tensor<64xf32>, tensor<32xf32>, tensor<f32>, tensor<100000xf32>
}
func.func private @constants(%x: tensor<i32>, %y: tensor<i32>, %w: tensor<i32>, %z: tensor<100000xf32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<100000xf32>) {
  %one = hlo.constant dense<1> : tensor<i32>
  %a = hlo.add %x, %one : tensor<i32>
  %n = hlo.negate %z : tensor<100000xf32>
  %two = hlo.constant dense<2> : tensor<i32>
  %b = hlo.add %y, %two : tensor<i32>
  %c = hlo.add %w, %two : tensor<i32>
  return %a, %b, %c, %n : tensor<i32>, tensor<i32>, tensor<i32>, tensor<100000xf32>
}
