// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test() {
  // expected-error @+1 {{[C1] takes at least one input}}
  "hlo.sort"() <{dimension = 0 : i64}> ({
  ^bb0:
    %c = hlo.constant dense<true> : tensor<i1>
    hlo.return %c : tensor<i1>
  }) : () -> ()
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C2, C3] result #0 must have type 'tensor<4xf32>', found 'tensor<4xf64>'}}
  %0 = "hlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C3] inputs must have the same shape, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0:2 = "hlo.sort"(%a, %b) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C4] dimension must be in [-1, 1), found 1}}
  %0 = "hlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C4] dimension must be in [-1, 1), found -2}}
  %0 = "hlo.sort"(%a) <{dimension = -2 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C5] the comparator must take 2 argument(s), found 1}}
  %0 = "hlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C5] argument #0 of the comparator must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = "hlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    hlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error @+1 {{[C5] value #0 that the comparator returns must have type 'tensor<i1>', found 'tensor<f32>'}}
  %0 = "hlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
