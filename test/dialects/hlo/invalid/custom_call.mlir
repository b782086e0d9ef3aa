// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{backend_config of api_version API_VERSION_TYPED_FFI must be a dictionary, found "text"}}
  %0 = hlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = "text"} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tensor<f32>) {
  // expected-error @+1 {{backend_config of api_version API_VERSION_ORIGINAL must be a string, found {option = 1 : i32}}}
  %0 = hlo.custom_call @f(%a) {backend_config = {option = 1 : i32}} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand_layouts and result_layouts go together}}
  %0 = hlo.custom_call @f(%a) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand_layouts must have 1 layout(s), found 0}}
  %0 = hlo.custom_call @f(%a) {operand_layouts = [], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand_layouts must be permutations of the dimensions, found [1] for 'tensor<2xf32>'}}
  %0 = hlo.custom_call @f(%a) {operand_layouts = [dense<1> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{output_operand_aliases must name an operand, found 1}}
  %0 = hlo.custom_call @f(%a) {output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @test(%a: tensor<2xf32>) {
  // expected-error @+1 {{an operand and the result that shares its storage must have the same type, found #hlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>}}
  %0 = hlo.custom_call @f(%a) {output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<3xf32>
  return
}
