// Buffers become offsets in one arena; what is dead makes room.
// RUN: hlo-opt --deallocate --place %s | FileCheck %s
// RUN: hlo-opt --deallocate --place='reuse=false' %s | FileCheck %s --check-prefix=APART

// 25 x 4 = 100 bytes, aligned to 64: 128. At most two of a, b and c live at once, so that c takes
// the place of a, and t, a byte that lives in the loop beside b and c, needs no alignment: it follows the
// lowest of them at 100.
// CHECK: {hlo.name = "a", hlo.offset = [[A:[0-9]+]] : i64}
// CHECK: {hlo.name = "b", hlo.offset = [[B:[0-9]+]] : i64}
// CHECK: {hlo.name = "c", hlo.offset = [[A]] : i64}
// CHECK: {hlo.name = "t", hlo.offset = 100 : i64}
// CHECK-NOT: memref.dealloc

// APART: {hlo.name = "a", hlo.offset = 0 : i64}
// APART: {hlo.name = "b", hlo.offset = 128 : i64}
// APART: {hlo.name = "c", hlo.offset = 256 : i64}
// APART: {hlo.name = "t", hlo.offset = 100 : i64}
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
