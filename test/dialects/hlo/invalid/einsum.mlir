// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @+1 {{einsum_config must have 2 input(s) and an output, found 'ab,bc'}}
  %0 = hlo.einsum %a, %b, config = "ab,bc" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>, %b: tensor<15x8xf32>) {
  // expected-error @+1 {{dimension 'b' must have one size, found 16 and 15}}
  %0 = hlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<15x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) {
  // expected-error @+1 {{dimension 'd' of the output must be an input's}}
  %0 = hlo.einsum %a, %b, config = "ab,bc->ad" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @test(%a: tensor<4x16xf32>) {
  // expected-error @+1 {{'abc' must name each dimension of 'tensor<4x16xf32>'}}
  %0 = hlo.unary_einsum %a, config = "abc->a" : (tensor<4x16xf32>) -> tensor<4xf32>
  return
}
