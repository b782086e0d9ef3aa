// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C1] replica_groups must be unique, found 0 twice}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C3] replica_groups must hold each process from 0 to 2}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C3] replica_groups must not be negative, found -2}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C4] use_global_device_ids needs a channel with a positive handle}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, channel_handle = #hlo.channel_handle<handle = 0, type = 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C5] value #0 that the computation returns must be a tensor whose element type 'f32' widens to, found 'tensor<f16>'}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    hlo.return %x : tensor<f16>
  }) : (tensor<10xf32>) -> tensor<10xf16>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C5] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C6, C7] result #0 must have type 'tensor<10xf32>', found 'tensor<11xf32>'}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<11xf32>
  return
}

// -----

func.func @test(%a: tensor<10xf32>) {
  // expected-error @+1 {{[C6, C7] result #0 must have type 'tensor<10xf64>', found 'tensor<10xf32>'}}
  %0 = "hlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    hlo.return %x : tensor<f64>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}
