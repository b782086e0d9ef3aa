// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{kind must not be empty}}
  %0 = "hlo.fusion"(%a) <{kind = ""}> ({
  ^bb0(%x: tensor<4xf32>):
    hlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{argument #0 of the fusion must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "hlo.fusion"(%a) <{kind = "loop"}> ({
  ^bb0(%x: tensor<5xf32>):
    hlo.return %x : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>) {
  // expected-error @+1 {{value #0 that the fusion returns must have type 'tensor<5xf32>', found 'tensor<4xf32>'}}
  %0 = "hlo.fusion"(%a) <{kind = "loop"}> ({
  ^bb0(%x: tensor<4xf32>):
    hlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}
