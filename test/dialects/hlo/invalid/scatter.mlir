// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C2] update_window_dims, inserted_window_dims and input_batching_dims must have 3 elements together, found 2}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5x1xf32>) {
  // expected-error @+1 {{[C4] updates must have rank 3, found 4}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5x1xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x6xf32>) {
  // expected-error @+1 {{[C4] update window dimension 2 must be at most 5, found 6}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x6xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x2x5xf32>) {
  // expected-error @+1 {{[C4] update dimension 1 must have size 3, found 2}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x2x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5x1xf32>) {
  // expected-error @+1 {{[C7] update_window_dims must be unique, found 2 twice}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5x1xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5x1xf32>) {
  // expected-error @+1 {{[C7] update_window_dims must be sorted, found [3, 2]}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [3, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5x1xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C8] update_window_dims must be in [0, 3), found 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [3], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C9] inserted_window_dims and input_batching_dims must be unique, found 1 twice}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C10] inserted_window_dims must be sorted, found [1, 0]}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C11] inserted_window_dims must be in [0, 3), found 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 3], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C12] input_batching_dims must be sorted, found [1, 0]}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [2, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C13] input_batching_dims must be in [0, 3), found 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [3], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C14] scatter_indices_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C15] scatter_indices_batching_dims must be in [0, 3), found 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C16] scatter_indices_batching_dims must not contain index_vector_dim 2}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C17] input_batching_dims and scatter_indices_batching_dims must have as many elements, found 1 and 2}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C18] batching dimensions must have the same size, found 4 and 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C19] scatter_dims_to_operand_dims must have 2 element(s), found 1}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C20] scatter_dims_to_operand_dims and input_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 0], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C21] scatter_dims_to_operand_dims must be in [0, 3), found 3}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 3], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x5xf32>) {
  // expected-error @+1 {{[C22] index_vector_dim must be in [0, 3], found 4}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 4>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %y : tensor<f32>
  }) : (tensor<4x9x5xf32>, tensor<4x3x2xi32>, tensor<4x3x5xf32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>, %b: tensor<5xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{[C1] inputs must have the same shape, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0:2 = "hlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %x, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>, tensor<1xi32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>, %b: tensor<4xf32>, %v: tensor<1xf32>) {
  // expected-error @+1 {{[C3] updates must have the same shape, found 'tensor<f32>' and 'tensor<1xf32>'}}
  %0:2 = "hlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %x, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<1xi32>, tensor<f32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>, %b: tensor<4xf64>, %v: tensor<f32>) {
  // expected-error @+1 {{[C6] element types must agree, found 'f64' and 'f32'}}
  %0:2 = "hlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    hlo.return %x, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf64>, tensor<1xi32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{[C5] takes as many updates as inputs, at least one, around scatter_indices, found 4 operand(s)}}
  %0 = "hlo.scatter"(%a, %i, %u, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{[C23] the computation must take 2 argument(s), found 1}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{[C23] value #0 that the computation returns must be a tensor whose element type 'f32' widens to, found 'tensor<f16>'}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    hlo.return %x : tensor<f16>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf16>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{[C24, C25] result #0 must have type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    hlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @test(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error @+1 {{[C24, C25] result #0 must have type 'tensor<4xf64>', found 'tensor<4xf32>'}}
  %0 = "hlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    hlo.return %x : tensor<f64>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<f32>) -> tensor<4xf32>
  return
}
