// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%s: tensor<2xi64>) {
  // expected-error @+1 {{[C1] iota_dimension must be in [0, 2), found 2}}
  %0 = hlo.dynamic_iota %s, dim = 2 : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @test(%s: tensor<2xi64>) {
  // expected-error @+1 {{[C2] output_shape must have 1 element(s), found 2}}
  %0 = hlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?xf32>
  return
}
