// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<8xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{dimension must be in [0, 1), found -1}}
  %0 = hlo.set_dimension_size %a, %n, dim = -1 : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32>
  return
}
