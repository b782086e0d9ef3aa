// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+1 {{[C1] element types must agree, found 'f32' and 'i32'}}
  %0 = hlo.compare EQ, %a, %b : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @test(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{[C2] operands must have the same shape, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = hlo.compare EQ, %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C2] result #0 must have type 'tensor<2xi1>', found 'tensor<3xi1>'}}
  %0 = hlo.compare EQ, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{[C3] compare_type SIGNED does not suit elements of type 'f32'}}
  %0 = hlo.compare EQ, %a, %a, SIGNED : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @test(%a: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{[C3] compare_type TOTALORDER does not suit elements of type 'complex<f32>'}}
  %0 = hlo.compare EQ, %a, %a, TOTALORDER : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return
}
