// Attributes and types print as StableHLO's do but for the prefix; fields that have their default are left out.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK: dot = #hlo.dot<lhs_batching_dimensions = [0], rhs_contracting_dimensions = [1, 2]>
module @dot attributes {hlo.dot = #hlo.dot<rhs_contracting_dimensions = [1, 2], lhs_batching_dimensions = [0], rhs_batching_dimensions = []>} {}
// CHECK: empty = #hlo.dot<>
module @empty attributes {hlo.empty = #hlo.dot<>} {}
// CHECK: gather = #hlo.gather<offset_dims = [0], start_index_map = [1], index_vector_dim = 1>
module @gather attributes {hlo.gather = #hlo.gather<index_vector_dim = 1, offset_dims = [0], start_index_map = [1]>} {}
// CHECK: scatter = #hlo.scatter<input_batching_dims = [0], scatter_indices_batching_dims = [1]>
module @scatter attributes {hlo.scatter = #hlo.scatter<input_batching_dims = [0], scatter_indices_batching_dims = [1], index_vector_dim = 0>} {}
// CHECK: conv = #hlo.conv<[b, 1, f, 0]x[o, i, 0, 1]->[b, f, 0, 1]>
module @conv attributes {hlo.conv = #hlo.conv<[b, 1, f, 0]x[o, i, 0, 1]->[b, f, 0, 1]>} {}
// CHECK: accuracy = #hlo.result_accuracy<mode = #hlo.result_accuracy_mode<HIGHEST>>
module @accuracy attributes {hlo.accuracy = #hlo.result_accuracy<mode = #hlo.result_accuracy_mode<HIGHEST>>} {}
// CHECK: accuracy = #hlo.result_accuracy<rtol = 1.000000e-03, ulps = 2, mode = #hlo.result_accuracy_mode<TOLERANCE>>
module @tolerance attributes {hlo.accuracy = #hlo.result_accuracy<ulps = 2, rtol = 0.001, mode = #hlo.result_accuracy_mode<TOLERANCE>>} {}
// CHECK: channel = #hlo.channel_handle<handle = 1, type = 2>
module @channel attributes {hlo.channel = #hlo.channel_handle<handle = 1, type = 2>} {}
// CHECK: algorithm = #hlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
module @algorithm attributes {hlo.algorithm = #hlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>} {}
// CHECK: groups = #hlo.replica_group_mesh_axes<mesh = @mesh, axes = [#hlo.axis_ref<name = "x", sub_axis_info = (1)2>]>
module @groups attributes {hlo.groups = #hlo.replica_group_mesh_axes<mesh = @mesh, axes = [#hlo.axis_ref<name = "x", sub_axis_info = (1)2>]>} {}
// CHECK: all = [#hlo<precision HIGH>, #hlo<fft_type IRFFT>, #hlo<comparison_direction GE>, #hlo<comparison_type UNSIGNED>, #hlo<transpose ADJOINT>, #hlo<rng_distribution NORMAL>, #hlo<rng_algorithm PHILOX>]
module @enums attributes {hlo.all = [#hlo<precision HIGH>, #hlo<fft_type IRFFT>, #hlo<comparison_direction GE>, #hlo<comparison_type UNSIGNED>, #hlo<transpose ADJOINT>, #hlo<rng_distribution NORMAL>, #hlo<rng_algorithm PHILOX>]} {}

// CHECK: func.func private @types(tensor<?x4xf32, #hlo.bounds<8, ?>>, tensor<2x3xf32, #hlo.layout<[0, 1]>>, tensor<f32, #hlo.layout<[]>>, !hlo.token, !hlo.future<tensor<f32>, tensor<2xi1>>)
func.func private @types(tensor<?x4xf32, #hlo.bounds<8, ?>>, tensor<2x3xf32, #hlo.layout<[0, 1]>>, tensor<f32, #hlo.layout<[]>>, !hlo.token, !hlo.future<tensor<f32>, tensor<2xi1>>)
