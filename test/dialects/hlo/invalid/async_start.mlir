// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C1] body must contain one operation and a return}}
  %0 = "hlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    hlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> !hlo.future<tensor<4xf32>>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C2] body must hold a collective operation or a slice, found 'hlo.negate'}}
  %0 = "hlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %y = hlo.negate %x : tensor<4xf32>
    hlo.return %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> !hlo.future<tensor<4xf32>>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C3] the operation in body must take the operands, in order}}
  %0 = "hlo.async_start"(%a, %b) ({
  ^bb0(%x: tensor<4xf32>, %z: tensor<4xf32>):
    %y = hlo.slice %z [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    hlo.return %y : tensor<2xf32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> !hlo.future<tensor<2xf32>>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{[C4] result #0 must have type '!hlo.future<tensor<2xf32>>', found '!hlo.future<tensor<4xf32>>'}}
  %0 = "hlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %y = hlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    hlo.return %y : tensor<2xf32>
  }) : (tensor<4xf32>) -> !hlo.future<tensor<4xf32>>
  return
}
