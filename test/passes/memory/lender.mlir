// The memory of a result holds intermediates until the result is first written.
// RUN: hlo-opt --deallocate --place %s | FileCheck %s
// RUN: hlo-opt --deallocate --place='reuse=false' %s | FileCheck %s --check-prefix=APART

// a (40000 x 4 = 160000 bytes) dies before %y is touched: it lies in %y, which has 200000 bytes. b is read
// while %y is written, and stays in the arena: its height is 160000, not 320000.
// CHECK: {hlo.lender = 1 : i64, hlo.name = "a", hlo.offset = 0 : i64}
// CHECK: {hlo.name = "b", hlo.offset = 0 : i64}
// A loop that touches a result touches it from its first step on: c lives in the loop.
// CHECK: {hlo.name = "c", hlo.offset = 0 : i64}

// APART-NOT: hlo.lender
module {
  func.func private @k(memref<40000xf32>, memref<40000xf32>) attributes {hlo.grain = 1 : i64, hlo.units = 1 : i64}
  func.func private @l(memref<40000xf32>, memref<50000xf32>) attributes {hlo.grain = 1 : i64, hlo.units = 1 : i64}
  func.func @main(%x: memref<40000xf32>, %y: memref<50000xf32>, %z: memref<50000xf32>) attributes {hlo.results = array<i64: 1, 2>} {
    %a = memref.alloc() {hlo.name = "a"} : memref<40000xf32>
    call @k(%x, %a) : (memref<40000xf32>, memref<40000xf32>) -> ()
    %b = memref.alloc() {hlo.name = "b"} : memref<40000xf32>
    call @k(%a, %b) : (memref<40000xf32>, memref<40000xf32>) -> ()
    call @l(%b, %y) : (memref<40000xf32>, memref<50000xf32>) -> ()
    %i = arith.constant 0 : index
    %t = memref.alloc() {hlo.name = "t"} : memref<1xi8>
    scf.while : () -> () {
      %v = memref.load %t[%i] : memref<1xi8>
      %n = arith.constant 0 : i8
      %f = arith.cmpi ne, %v, %n : i8
      scf.condition(%f)
    } do {
      %c = memref.alloc() {hlo.name = "c"} : memref<40000xf32>
      func.call @k(%x, %c) : (memref<40000xf32>, memref<40000xf32>) -> ()
      func.call @l(%c, %z) : (memref<40000xf32>, memref<50000xf32>) -> ()
      scf.yield
    }
    return
  }
}
