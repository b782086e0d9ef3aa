// RUN: hlo-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{a layout is a permutation of dimensions, found [0, 0]}}
module attributes {hlo.layout = #hlo.layout<[0, 0]>} {}

// -----

// expected-error @+1 {{a layout is a permutation of dimensions, found [1]}}
module attributes {hlo.layout = #hlo.layout<[1]>} {}

// -----

// expected-error @+1 {{layout of 1 dimension(s) on a tensor of rank 2}}
func.func private @f(tensor<2x3xf32, #hlo.layout<[0]>>)

// -----

// expected-error @+1 {{bounds must have 2 element(s), found 1}}
func.func private @f(tensor<?x3xf32, #hlo.bounds<4>>)

// -----

// expected-error @+1 {{a static dimension takes no bound, found 4}}
func.func private @f(tensor<?x3xf32, #hlo.bounds<4, 4>>)

// -----

// expected-error @+1 {{bounds must not be negative, found -4}}
func.func private @f(tensor<?x3xf32, #hlo.bounds<-4, ?>>)

// -----

// expected-error @+1 {{expected 'b', 'f' or a spatial dimension}}
module attributes {hlo.conv = #hlo.conv<[b, i, 0]x[0, i, o]->[b, 0, f]>} {}

// -----

// expected-error @+1 {{'b' is given twice}}
module attributes {hlo.conv = #hlo.conv<[b, b, f]x[0, i, o]->[b, 0, f]>} {}

// -----

// expected-error @+1 {{expected dimensions 'b' and 'f'}}
module attributes {hlo.conv = #hlo.conv<[b, 0]x[0, i, o]->[b, 0, f]>} {}

// -----

// expected-error @+1 {{spatial dimensions must be 0 to 1, each once}}
module attributes {hlo.conv = #hlo.conv<[b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f]>} {}

// -----

// expected-error @+1 {{input, kernel and output must have as many spatial dimensions, found 1, 2 and 1}}
module attributes {hlo.conv = #hlo.conv<[b, 0, f]x[0, 1, i, o]->[b, 0, f]>} {}

// -----

// expected-error @+1 {{mode TOLERANCE needs a tolerance}}
module attributes {hlo.accuracy = #hlo.result_accuracy<mode = #hlo.result_accuracy_mode<TOLERANCE>>} {}

// -----

// expected-error @+1 {{tolerances need mode TOLERANCE}}
module attributes {hlo.accuracy = #hlo.result_accuracy<ulps = 1, mode = #hlo.result_accuracy_mode<DEFAULT>>} {}

// -----

// expected-error @+1 {{tolerances must not be negative}}
module attributes {hlo.accuracy = #hlo.result_accuracy<ulps = -1, mode = #hlo.result_accuracy_mode<TOLERANCE>>} {}

// -----

// expected-error @+1 {{components and primitive operations must be at least 1, found 0, 1 and 1}}
module attributes {hlo.algorithm = #hlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} {}

// -----

// expected-error @+1 {{an algorithm computes with floats or integers, found 'index'}}
module attributes {hlo.algorithm = #hlo.dot_algorithm<lhs_precision_type = index, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} {}

// -----

// expected-error @+1 {{mesh must be a mesh or the symbol of one}}
module attributes {hlo.groups = #hlo.replica_group_mesh_axes<mesh = "x", axes = []>} {}

// -----

// expected-error @+1 {{axes must be axis_ref attributes}}
module attributes {hlo.groups = #hlo.replica_group_mesh_axes<mesh = @m, axes = ["x"]>} {}
