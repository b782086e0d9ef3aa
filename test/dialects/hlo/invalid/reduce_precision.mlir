// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %0 = hlo.reduce_precision %a, format = e5m10 : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2] exponent_bits must be at least 1, found 0}}
  %0 = hlo.reduce_precision %a, format = e0m10 : tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C3] mantissa_bits must be at least 0, found -1}}
  %0 = "hlo.reduce_precision"(%a) <{exponent_bits = 1 : i32, mantissa_bits = -1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
