// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
  // expected-error @+1 {{[C1] lhs_ragged_dimensions must have 1 element(s), found 0}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
  // expected-error @+1 {{[C1] lhs_ragged_dimensions must be in [0, 2), found 2}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
  // expected-error @+1 {{[C2] contracting dimensions must have the same size, found 5 and 7}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
  // expected-error @+1 {{[C3] rhs_group_dimensions must have 1 element(s), found 0}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<4xi64>) {
  // expected-error @+1 {{[C4] group_sizes must have 3 groups, found 4}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<4xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<2x3xi64>) {
  // expected-error @+1 {{[C4] group_sizes must have shape [3], found 'tensor<2x3xi64>'}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<2x3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @test(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi64>) {
  // expected-error @+1 {{[C5] result must have shape [11, 7], found 'tensor<7x11xf32>'}}
  %0 = "hlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #hlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<7x11xf32>
  return
}
