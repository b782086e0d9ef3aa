// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @all_gather(
// CHECK: %{{.*}} = "hlo.all_gather"(%{{.*}}) <{all_gather_dim = 1 : i64, channel_handle = #hlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7{{\]\]}}> : tensor<2x4xi64>, use_global_device_ids}> : (tensor<8x2xf32>) -> tensor<8x8xf32>
func.func @all_gather(%arg0: tensor<8x2xf32>) {
  %0 = "hlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #hlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> : (tensor<8x2xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @all_gather_2(
// CHECK: %{{.*}} = "hlo.all_gather"(%{{.*}}) <{all_gather_dim = 1 : i64, replica_groups = #hlo.replica_group_mesh_axes<mesh = #hlo.mesh<axes=[<name = "x", size = 2>]>, axes = [#hlo.axis_ref<name = "x", sub_axis_info = (1)2>]>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
func.func @all_gather_2(%arg0: tensor<8x2xf32>) {
  %0 = "hlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = #hlo.replica_group_mesh_axes<mesh = #hlo.mesh<axes=[<name = "x", size = 2>]>, axes = [#hlo.axis_ref<name = "x", sub_axis_info = (1)2>]>}> : (tensor<8x2xf32>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK: %{{.*}} = "hlo.all_reduce"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 2, -1], [1, 3, 4{{\]\]}}> : tensor<2x3xi64>}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @all_reduce(%arg0: tensor<10xf32>) {
  %0 = "hlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 2, -1], [1, 3, 4]]> : tensor<2x3xi64>}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = hlo.add %arg1, %arg2 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// CHECK-LABEL: func.func @collective_reduce(
// CHECK: %{{.*}} = "hlo.collective_reduce"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @collective_reduce(%arg0: tensor<10xf32>) {
  %0 = "hlo.collective_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = hlo.add %arg1, %arg2 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK: %{{.*}} = "hlo.reduce_scatter"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1, 2, 3{{\]\]}}> : tensor<1x4xi64>, scatter_dimension = 1 : i64}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @reduce_scatter(%arg0: tensor<4x16xf32>) {
  %0 = "hlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = hlo.add %arg1, %arg2 : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @all_to_all(
// CHECK: %{{.*}} = "hlo.all_to_all"(%{{.*}}) <{concat_dimension = 0 : i64, replica_groups = dense<{{\[\[}}0, 1, 2, 3{{\]\]}}> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
func.func @all_to_all(%arg0: tensor<4x16xf32>) {
  %0 = "hlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// CHECK-LABEL: func.func @collective_broadcast(
// CHECK: %{{.*}} = "hlo.collective_broadcast"(%{{.*}}, %{{.*}}) <{has_dynamic_root, replica_groups = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
func.func @collective_broadcast(%arg0: tensor<4xf32>, %arg1: tensor<1xi32>) {
  %0 = "hlo.collective_broadcast"(%arg0, %arg1) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @collective_permute(
// CHECK: %{{.*}} = "hlo.collective_permute"(%{{.*}}) <{source_target_pairs = dense<{{\[\[}}0, 1], [1, 2{{\]\]}}> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
func.func @collective_permute(%arg0: tensor<4xf32>) {
  %0 = "hlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @cross_replica_sum(
// CHECK: %{{.*}} = "hlo.cross-replica-sum"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
func.func @cross_replica_sum(%arg0: tensor<4xf32>) {
  %0 = "hlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @replica_id(
// CHECK: %{{.*}} = hlo.replica_id : tensor<ui32>
func.func @replica_id() {
  %0 = hlo.replica_id : tensor<ui32>
  return
}

// CHECK-LABEL: func.func @partition_id(
// CHECK: %{{.*}} = hlo.partition_id : tensor<ui32>
func.func @partition_id() {
  %0 = hlo.partition_id : tensor<ui32>
  return
}

// CHECK-LABEL: func.func @infeed(
// CHECK: %{{.*}}:2 = "hlo.infeed"(%{{.*}}) <{infeed_config = "c", layout = {{\[\[}}0, 1{{\]\]}}}> : (!hlo.token) -> (tensor<3x3xf32>, !hlo.token)
func.func @infeed(%arg0: !hlo.token) {
  %0:2 = "hlo.infeed"(%arg0) <{infeed_config = "c", layout = [[0, 1]]}> : (!hlo.token) -> (tensor<3x3xf32>, !hlo.token)
  return
}

// CHECK-LABEL: func.func @outfeed(
// CHECK: %{{.*}} = "hlo.outfeed"(%{{.*}}, %{{.*}}) <{outfeed_config = ""}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
func.func @outfeed(%arg0: tensor<3xf32>, %arg1: !hlo.token) {
  %0 = "hlo.outfeed"(%arg0, %arg1) <{outfeed_config = ""}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// CHECK-LABEL: func.func @send(
// CHECK: %{{.*}} = "hlo.send"(%{{.*}}, %{{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
func.func @send(%arg0: tensor<3xf32>, %arg1: !hlo.token) {
  %0 = "hlo.send"(%arg0, %arg1) <{channel_handle = #hlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<3xf32>, !hlo.token) -> !hlo.token
  return
}

// CHECK-LABEL: func.func @recv(
// CHECK: %{{.*}}:2 = "hlo.recv"(%{{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1{{\]\]}}> : tensor<1x2xi64>}> : (!hlo.token) -> (tensor<3xf32>, !hlo.token)
func.func @recv(%arg0: !hlo.token) {
  %0:2 = "hlo.recv"(%arg0) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!hlo.token) -> (tensor<3xf32>, !hlo.token)
  return
}
