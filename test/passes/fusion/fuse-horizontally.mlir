// Updates of arguments of different sizes are one launch; results take over donated arguments.
// RUN: hlo-opt --fuse --fuse-horizontally %s | FileCheck %s
// RUN: hlo-opt --compile-to=host %s | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @main
// CHECK: "hlo.fusion"({{.*}}) <{kind = "horizontal", name = "multiply_subtract_x2"
// CHECK: "hlo.fusion"({{.*}}) <{kind = "loop", name = "multiply_subtract_fusion"
// CHECK: "hlo.fusion"({{.*}}) <{kind = "loop", name = "multiply_subtract_fusion"
// CHECK: hlo.return
// CHECK: hlo.reason = "2 kernels that do not depend on one another: in one launch they take

// HOST: func.func private @[[K:.*]](memref<{{.*}}) attributes {{.*}}hlo.units = 1 : i64
// HOST: func.func @main
// HOST-NOT: alloc
// HOST: call @[[K]]({{.*}}) {hlo.launch = {{[0-9]+}} : i64} : (memref<128xf32>, memref<128xf32>, memref<24xf32>, memref<24xf32>, memref<128xf32>, memref<24xf32>) -> ()

// What the sorts read is one launch, and so is what reads them; each kernel has one op.
// CHECK-LABEL: func.func private @dependent
// CHECK: "hlo.fusion"(%arg0, %arg1) <{kind = "horizontal", name = "negate_and_1_more"
// CHECK: hlo.sort
// CHECK: hlo.sort
// CHECK: "hlo.fusion"({{.*}}) <{kind = "horizontal", name = "tanh_and_1_more"

// A dot for the vendor library, and an update in place, are no members.
// CHECK-LABEL: func.func private @apart
// CHECK-NOT: kind = "horizontal"
// CHECK: return
func.func @main(%p: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<8x16xf32>,
                %q: tensor<24xf32> {tf.aliasing_output = 1 : i32}, %h: tensor<24xf32>) -> (tensor<8x16xf32>, tensor<24xf32>) {
  %r = hlo.constant dense<0.125> : tensor<8x16xf32>
  %0 = hlo.multiply %g, %r : tensor<8x16xf32>
  %1 = hlo.subtract %p, %0 : tensor<8x16xf32>
  %s = hlo.constant dense<0.125> : tensor<24xf32>
  %2 = hlo.multiply %h, %s : tensor<24xf32>
  %3 = hlo.subtract %q, %2 : tensor<24xf32>
  return %1, %3 : tensor<8x16xf32>, tensor<24xf32>
}
func.func private @dependent(%x: tensor<8xf32>, %y: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %0 = hlo.negate %x : tensor<8xf32>
  %1 = "hlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = hlo.tanh %1 : tensor<8xf32>
  %3 = hlo.abs %y : tensor<16xf32>
  %4 = "hlo.sort"(%3) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %l : tensor<i1>
  }) : (tensor<16xf32>) -> tensor<16xf32>
  %5 = hlo.cosine %4 : tensor<16xf32>
  return %2, %5 : tensor<8xf32>, tensor<16xf32>
}
func.func private @apart(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %x: tensor<64xf32>, %u: tensor<4xf32>, %i: tensor<i32>)
    -> (tensor<512x512xf32>, tensor<64xf32>) {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = hlo.dynamic_update_slice %x, %u, %i : (tensor<64xf32>, tensor<4xf32>, tensor<i32>) -> tensor<64xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<64xf32>
}
