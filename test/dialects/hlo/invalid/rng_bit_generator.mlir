// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xui64>) {
  // expected-error @+1 {{[C1] initial_state and output_state must have the same type, found 'tensor<2xui64>' and 'tensor<3xui64>'}}
  %0:2 = hlo.rng_bit_generator %a, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return
}

// -----

func.func @test(%a: tensor<3xui64>) {
  // expected-error @+1 {{[C2] THREE_FRY has a state of 2 64-bit words, found 'tensor<3xui64>'}}
  %0:2 = hlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  return
}

// -----

func.func @test(%a: tensor<4xui64>) {
  // expected-error @+1 {{[C2] PHILOX has a state of 2 or 3 64-bit words, found 'tensor<4xui64>'}}
  %0:2 = hlo.rng_bit_generator %a, algorithm = PHILOX : (tensor<4xui64>) -> (tensor<4xui64>, tensor<8xui32>)
  return
}
