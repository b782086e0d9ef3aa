// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<10xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C1] replica_groups must be unique, found 0 twice}}
  %0 = "hlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C2] replica_groups must not be negative, found -2}}
  %0 = "hlo.collective_reduce"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C3] the last operand must have type 'tensor<1xi32>', found 'tensor<2xi32>'}}
  %0 = "hlo.collective_reduce"(%a, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>, tensor<2xi32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C3] takes at least 2 operand(s), found 1}}
  %0 = "hlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C4] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}
