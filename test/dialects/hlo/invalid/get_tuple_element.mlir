// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tuple<tensor<f32>>) {
  // expected-error @+1 {{[C1] index must be in [0, 1), found 1}}
  %0 = hlo.get_tuple_element %a[1] : (tuple<tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tuple<tensor<f32>>) {
  // expected-error @+1 {{[C1] index must be in [0, 1), found -1}}
  %0 = hlo.get_tuple_element %a[-1] : (tuple<tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tuple<tensor<f32>>) {
  // expected-error @+1 {{[C2] result #0 must have type 'tensor<f32>', found 'tensor<f64>'}}
  %0 = hlo.get_tuple_element %a[0] : (tuple<tensor<f32>>) -> tensor<f64>
  return
}
