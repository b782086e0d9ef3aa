// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<8xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{operand and result must have the same element type, found 'tensor<8xf32>' and 'tensor<?xf64>'}}
  %0 = hlo.real_dynamic_slice %a, %s, %s, %s : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
  return
}

// -----

func.func @test(%a: tensor<8xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{operand and result must have the same rank, found 'tensor<8xf32>' and 'tensor<?x?xf32>'}}
  %0 = hlo.real_dynamic_slice %a, %s, %s, %s : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%a: tensor<8xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{start_indices, limit_indices and strides must have 1 element(s), found 2}}
  %0 = hlo.real_dynamic_slice %a, %s, %s, %s : (tensor<8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}
