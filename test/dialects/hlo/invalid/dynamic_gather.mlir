// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C1] offset_dims, collapsed_slice_dims and operand_batching_dims must have 2 elements together, found 1}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C6] collapsed_slice_dims and operand_batching_dims must be unique, found 0 twice}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C7] collapsed_slice_dims must be in [0, 2), found 2}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C10] start_index_map must be in [0, 2), found 2}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{[C11] slice_sizes must have 2 element(s), found 3}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @test(%a: tensor<9x4xf32>, %i: tensor<3x1xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C13, C14] result #0 must have type 'tensor<3x?xf32>', found 'tensor<4x?xf32>'}}
  %0 = "hlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<4x?xf32>
  return
}
