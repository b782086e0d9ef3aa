// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{[C1] operands must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %0 = "hlo.multiply"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{[C1] operands must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = "hlo.subtract"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %0 = "hlo.power"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @test(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.divide %a, %a : tensor<2xi1>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.shift_left %a, %a : tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be }}
  %0 = hlo.and %a, %a : tensor<2xf32>
  return
}
