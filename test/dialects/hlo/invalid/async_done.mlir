// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: !hlo.future<tensor<2xf32>>) {
  // expected-error @+1 {{[C1] result #0 must have type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = "hlo.async_done"(%a) : (!hlo.future<tensor<2xf32>>) -> tensor<3xf32>
  return
}
