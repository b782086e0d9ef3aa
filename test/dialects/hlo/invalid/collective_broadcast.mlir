// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C1] replica_groups must be unique, found 0 twice}}
  %0 = "hlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C2] replica_groups must not be negative, found -2}}
  %0 = "hlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C3] takes at least one operand}}
  %0 = "hlo.collective_broadcast"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : () -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C4] takes at least two operands, found 1}}
  %0 = "hlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C4] the last operand must have type 'tensor<1xi32>', found 'tensor<2xi32>'}}
  %0 = "hlo.collective_broadcast"(%a, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{[C3] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "hlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}
