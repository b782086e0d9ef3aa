// Pixels of three bytes in reverse: the lanes of a channel lie three elements apart and go back; they
// are shuffled out of whole vectors.
// RUN: hlo-opt --compile-to=host %s | FileCheck %s

// CHECK-LABEL: func.func @reverse_0(
// CHECK-NOT: vector.gather
// CHECK: %[[LAST:.*]] = vector.load %in0{{.*}} vector<16xi8>
// CHECK: vector.shuffle {{.*}}, %[[LAST]]
// CHECK-NOT: vector.gather
func.func @main(%x: tensor<4x64x3xui8>) -> tensor<4x64x3xui8> {
  %0 = hlo.reverse %x, dims = [1] : tensor<4x64x3xui8>
  return %0 : tensor<4x64x3xui8>
}
