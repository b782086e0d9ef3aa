// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<8xf32>) {
  // expected-error @+1 {{[C1] dimension must be in [0, 1), found 1}}
  %0 = hlo.get_dimension_size %a, dim = 1 : (tensor<8xf32>) -> tensor<i32>
  return
}
