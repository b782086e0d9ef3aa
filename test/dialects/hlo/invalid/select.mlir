// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%p: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] pred must be a scalar or have the shape of on_true, found 'tensor<3xi1>' and 'tensor<2xf32>'}}
  %0 = hlo.select %p, %a, %a : tensor<3xi1>, tensor<2xf32>
  return
}

// -----

func.func @test(%p: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{[C2] on_true and on_false must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %0 = hlo.select %p, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%p: tensor<2xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{[C2] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = hlo.select %p, %a, %a : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}
