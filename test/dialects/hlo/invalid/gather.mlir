// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C1] offset_dims, collapsed_slice_dims and operand_batching_dims must have 3 elements together, found 2}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C2] index_vector_dim must be in [0, 3], found 4}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C3] start_index_map must have 2 element(s), found 1}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C4] offset_dims must be sorted, found [2, 1]}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x1x5x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C4] offset_dims must be unique, found 2 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x1x5x3xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C5] offset_dims must be in [0, 3), found 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [3], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C6] collapsed_slice_dims and operand_batching_dims must be unique, found 1 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C6] collapsed_slice_dims and operand_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C7] collapsed_slice_dims must be sorted, found [1, 0]}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1, 0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C8] collapsed_slice_dims must be in [0, 3), found 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 3], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C9] slice_sizes must be at most 1 in collapsed_slice_dims, found 2 in dimension 1}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C10] operand_batching_dims must be sorted, found [1, 0]}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], start_index_map = [2, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C11] operand_batching_dims must be in [0, 3), found 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C12] slice_sizes must be at most 1 in operand_batching_dims, found 2 in dimension 0}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 2, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C13] start_indices_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C14] start_indices_batching_dims must be in [0, 3), found 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C15] start_indices_batching_dims must not contain index_vector_dim 2}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C16] operand_batching_dims and start_indices_batching_dims must have as many elements, found 1 and 2}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C17] batching dimensions must have the same size, found 4 and 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C18] start_index_map and operand_batching_dims must be unique, found 1 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C18] start_index_map and operand_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C19] start_index_map must be in [0, 3), found 3}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C20] slice_sizes must have 3 element(s), found 2}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C21] slice_sizes must be in [0, 5] in dimension 2, found 6}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x6xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C21] slice_sizes must be in [0, 5] in dimension 2, found -1}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, -1>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x6xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C22, C23] result #0 must have type 'tensor<4x3x5xf32>', found 'tensor<4x3x4xf32>'}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x4xf32>
  return
}

// -----

func.func @test(%a: tensor<4x9x5xf32>, %i: tensor<4x3x2xi32>) {
  // expected-error @+1 {{[C22, C23] result #0 must have type 'tensor<4x3x5xf32>', found 'tensor<4x3x5xf64>'}}
  %0 = "hlo.gather"(%a, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<4x9x5xf32>, tensor<4x3x2xi32>) -> tensor<4x3x5xf64>
  return
}
