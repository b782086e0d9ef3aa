// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C1] name must be a namespace, a dot and a name, found 'plain'}}
  %0 = "hlo.composite"(%a) <{name = "plain", decomposition = @f}> : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C2] no function is named @missing}}
  %0 = "hlo.composite"(%a) <{name = "my.op", decomposition = @missing}> : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C3] inputs must have the types of the decomposition's arguments, found () and ('tensor<f32>')}}
  "hlo.composite"() <{name = "my.op", decomposition = @test}> : () -> ()
  return
}

// -----

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{[C4] results must have the types of the decomposition's results, found ('tensor<f32>') and ()}}
  %0 = "hlo.composite"(%a) <{name = "my.op", decomposition = @test}> : (tensor<f32>) -> tensor<f32>
  return
}
