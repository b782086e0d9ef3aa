// Bits under another type are the operand's memory under another memref type; wider elements of an
// argument are not, as an argument has its own elements' alignment only.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @main(%arg0: memref<64xf32>, %arg1: memref<256xi8>
// CHECK: %[[BITS:.*]] = builtin.unrealized_conversion_cast %arg0 : memref<64xf32> to memref<128xi16>
// CHECK: call @sort{{.*}}(%[[BITS]],
// CHECK: %[[WIDE:.*]] = memref.alloc() {hlo.name = "bitcast_convert"} : memref<64xi32>
// CHECK: call @bitcast_convert{{.*}}(%arg1, %[[WIDE]])
// CHECK: call @sort{{.*}}(%[[WIDE]],
func.func @main(%x: tensor<64xf32>, %y: tensor<64x4xi8>) -> (tensor<64x2xi16>, tensor<64xi32>) {
  %0 = hlo.bitcast_convert %x : (tensor<64xf32>) -> tensor<64x2xi16>
  %1 = "hlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) : (tensor<64x2xi16>) -> tensor<64x2xi16>
  %2 = hlo.bitcast_convert %y : (tensor<64x4xi8>) -> tensor<64xi32>
  %3 = "hlo.sort"(%2) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }) : (tensor<64xi32>) -> tensor<64xi32>
  return %1, %3 : tensor<64x2xi16>, tensor<64xi32>
}
