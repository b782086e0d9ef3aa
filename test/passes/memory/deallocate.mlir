// A buffer ends right after the last op that uses it, loops counted as one op.
// RUN: hlo-opt --deallocate %s | FileCheck %s

// CHECK: %[[A:.*]] = memref.alloc() {hlo.name = "a"}
// CHECK: %[[B:.*]] = memref.alloc() {hlo.name = "b"}
// CHECK-NEXT: call @k(%[[A]], %[[B]])
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: %[[C:.*]] = memref.alloc() {hlo.name = "c"}
// CHECK: scf.while
// A buffer of the loop's own ends in the loop.
// CHECK: %[[T:.*]] = memref.alloc() {hlo.name = "t"}
// CHECK: memref.load %[[T]]
// CHECK-NEXT: memref.dealloc %[[T]]
// CHECK: scf.condition
// The loop reads b again and again: it lives to the loop's end.
// CHECK: call @k(%[[B]], %[[C]])
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: call @k(%[[C]],
// CHECK-NEXT: memref.dealloc %[[C]]
// CHECK-NEXT: return
module {
  func.func private @k(memref<25xf32>, memref<25xf32>) attributes {hlo.grain = 1 : i64, hlo.units = 1 : i64}
  func.func @main(%x: memref<25xf32>, %y: memref<25xf32>) {
    %a = memref.alloc() {hlo.name = "a"} : memref<25xf32>
    call @k(%x, %a) : (memref<25xf32>, memref<25xf32>) -> ()
    %b = memref.alloc() {hlo.name = "b"} : memref<25xf32>
    call @k(%a, %b) : (memref<25xf32>, memref<25xf32>) -> ()
    %c = memref.alloc() {hlo.name = "c"} : memref<25xf32>
    scf.while : () -> () {
      %t = memref.alloc() {hlo.name = "t"} : memref<1xi8>
      %i = arith.constant 0 : index
      %v = memref.load %t[%i] : memref<1xi8>
      %z = arith.constant 0 : i8
      %f = arith.cmpi ne, %v, %z : i8
      scf.condition(%f)
    } do {
      func.call @k(%b, %c) : (memref<25xf32>, memref<25xf32>) -> ()
      scf.yield
    }
    call @k(%c, %y) : (memref<25xf32>, memref<25xf32>) -> ()
    return
  }
}
