// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tuple<tensor<f32>>', found 'tuple<tensor<f64>>'}}
  %0 = hlo.tuple %a : (tensor<f32>) -> tuple<tensor<f64>>
  return
}
