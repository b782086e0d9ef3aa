// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C1] argument #0 of cond must have type 'tensor<i32>', found 'tensor<i64>'}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i64>):
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>):
    hlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C1] value #0 that cond returns must have type 'tensor<i1>', found 'tensor<i32>'}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i32>):
    hlo.return %x : tensor<i32>
  }, {
  ^bb0(%x: tensor<i32>):
    hlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C1] cond must return 1 value(s), found 2}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i32>):
    hlo.return %p, %p : tensor<i1>, tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>):
    hlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C2] argument #0 of body must have type 'tensor<i32>', found 'tensor<i64>'}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i32>):
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i64>):
    hlo.return %x : tensor<i64>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C2] value #0 that body returns must have type 'tensor<i32>', found 'tensor<i1>'}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i32>):
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func @test(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C3] result #0 must have type 'tensor<i32>', found 'tensor<i64>'}}
  %0 = "hlo.while"(%a) ({
  ^bb0(%x: tensor<i32>):
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>):
    hlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i64>
  return
}
