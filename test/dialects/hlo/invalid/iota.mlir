// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test() {
  // expected-error @+1 {{[C1] iota_dimension must be in [0, 2), found 2}}
  %0 = hlo.iota dim = 2 : tensor<2x3xf32>
  return
}

// -----

func.func @test() {
  // expected-error @+1 {{[C1] iota_dimension must be in [0, 2), found -1}}
  %0 = hlo.iota dim = -1 : tensor<2x3xf32>
  return
}

// -----

func.func @test() {
  // expected-error @+1 {{must have a static shape, found 'tensor<?xf32>'}}
  %0 = hlo.iota dim = 0 : tensor<?xf32>
  return
}
