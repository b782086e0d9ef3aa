// Every operation of the family prints as it is written here, and reads back from the generic form and from bytecode.
// RUN: hlo-opt %s | FileCheck %s
// RUN: hlo-opt --generic %s | hlo-opt | FileCheck %s
// RUN: hlo-opt --emit-bytecode %s -o %t.bc && hlo-opt %t.bc | FileCheck %s

// CHECK-LABEL: func.func @if(
// CHECK: %{{.*}} = "hlo.if"(%{{.*}}) ({
// CHECK: hlo.return %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @if(%arg0: tensor<i1>, %arg1: tensor<f32>) {
  %0 = "hlo.if"(%arg0) ({
    hlo.return %arg1 : tensor<f32>
  }, {
    hlo.return %arg1 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @case(
// CHECK: %{{.*}} = "hlo.case"(%{{.*}}) ({
// CHECK: hlo.return %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
// CHECK: hlo.return %{{.*}} : tensor<f32>
func.func @case(%arg0: tensor<i32>, %arg1: tensor<f32>) {
  %0 = "hlo.case"(%arg0) ({
    hlo.return %arg1 : tensor<f32>
  }, {
    hlo.return %arg1 : tensor<f32>
  }, {
    hlo.return %arg1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @while(
// CHECK: %{{.*}}:2 = hlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<f32>
// CHECK: %{{.*}} = hlo.compare LT, %{{.*}}, %{{.*}} : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: hlo.return %{{.*}} : tensor<i1>
// CHECK: hlo.return %{{.*}}, %{{.*}} : tensor<i32>, tensor<f32>
func.func @while(%arg0: tensor<i32>, %arg1: tensor<f32>) {
  %0:2 = hlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<f32>
   cond {
    %1 = hlo.compare LT, %iterArg, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %1 : tensor<i1>
  } do {
    hlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<f32>
  }
  return
}

// CHECK-LABEL: func.func @while_2(
// CHECK: %{{.*}} = hlo.while(%{{.*}}) : (tensor<4xf32>) -> tensor<?xf32>
// CHECK: hlo.return %{{.*}} : tensor<i1>
// CHECK: hlo.return %{{.*}} : tensor<?xf32>
func.func @while_2(%arg0: tensor<4xf32>, %arg1: tensor<i1>) {
  %0 = hlo.while(%arg0) : (tensor<4xf32>) -> tensor<?xf32>
   cond {
  ^bb0(%iterArg: tensor<?xf32>):
    hlo.return %arg1 : tensor<i1>
  } do {
  ^bb0(%iterArg: tensor<?xf32>):
    hlo.return %iterArg : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @fusion(
// CHECK: %{{.*}} = "hlo.fusion"(%{{.*}}) <{kind = "loop", name = "add.negate"}> ({
// CHECK: %{{.*}} = hlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK: %{{.*}} = hlo.negate %{{.*}} : tensor<4xf32>
// CHECK: hlo.return %{{.*}} : tensor<4xf32>
func.func @fusion(%arg0: tensor<4xf32>) {
  %0 = "hlo.fusion"(%arg0) <{kind = "loop", name = "add.negate"}> ({
  ^bb0(%arg1: tensor<4xf32>):
    %1 = hlo.add %arg1, %arg1 : tensor<4xf32>
    %2 = hlo.negate %1 : tensor<4xf32>
    hlo.return %2 : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @custom_call(
// CHECK: %{{.*}} = hlo.custom_call @"a target"(%{{.*}}) {api_version = 4 : i32, backend_config = {option = 1 : i32}, has_side_effect = true} : (tensor<f64>) -> tensor<f64>
func.func @custom_call(%arg0: tensor<f64>) {
  %0 = hlo.custom_call @"a target"(%arg0) {api_version = 4 : i32, backend_config = {option = 1 : i32}, has_side_effect = true} : (tensor<f64>) -> tensor<f64>
  return
}

// CHECK-LABEL: func.func @custom_call_2(
// CHECK: %{{.*}}:2 = hlo.custom_call @f(%{{.*}}) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>)
func.func @custom_call_2(%arg0: tensor<2x3xf32>) {
  %0:2 = hlo.custom_call @f(%arg0) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>)
  return
}

// CHECK-LABEL: func.func @optimization_barrier(
// CHECK: %{{.*}}:2 = hlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<f32>, tensor<i1>
func.func @optimization_barrier(%arg0: tensor<f32>, %arg1: tensor<i1>) {
  %0:2 = hlo.optimization_barrier %arg0, %arg1 : tensor<f32>, tensor<i1>
  return
}

// CHECK-LABEL: func.func @optimization_barrier_2(
// CHECK: hlo.optimization_barrier()
func.func @optimization_barrier_2() {
  hlo.optimization_barrier()
  return
}

// CHECK-LABEL: func.func @tuple(
// CHECK: %{{.*}} = hlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<f32>, !hlo.token>
func.func @tuple(%arg0: tensor<f32>, %arg1: !hlo.token) {
  %0 = hlo.tuple %arg0, %arg1 : tuple<tensor<f32>, !hlo.token>
  return
}

// CHECK-LABEL: func.func @get_tuple_element(
// CHECK: %{{.*}} = hlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<f32>, tensor<2xi1>>) -> tensor<2xi1>
func.func @get_tuple_element(%arg0: tuple<tensor<f32>, tensor<2xi1>>) {
  %0 = hlo.get_tuple_element %arg0[1] : (tuple<tensor<f32>, tensor<2xi1>>) -> tensor<2xi1>
  return
}

// CHECK-LABEL: func.func @after_all(
// CHECK: %{{.*}} = hlo.after_all %{{.*}}, %{{.*}} : !hlo.token
func.func @after_all(%arg0: !hlo.token) {
  %0 = hlo.after_all %arg0, %arg0 : !hlo.token
  return
}

// CHECK-LABEL: func.func @create_token(
// CHECK: %{{.*}} = hlo.create_token : !hlo.token
func.func @create_token() {
  %0 = hlo.create_token : !hlo.token
  return
}

// CHECK-LABEL: func.func @async_start(
// CHECK: %{{.*}} = "hlo.async_start"(%{{.*}}) ({
// CHECK: %{{.*}} = hlo.slice %{{.*}} [0:2] : (tensor<4xf32>) -> tensor<2xf32>
// CHECK: hlo.return %{{.*}} : tensor<2xf32>
func.func @async_start(%arg0: tensor<4xf32>) {
  %0 = "hlo.async_start"(%arg0) ({
  ^bb0(%arg1: tensor<4xf32>):
    %1 = hlo.slice %arg1 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    hlo.return %1 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !hlo.future<tensor<2xf32>>
  return
}

// CHECK-LABEL: func.func @async_done(
// CHECK: %{{.*}} = "hlo.async_done"(%{{.*}}) : (!hlo.future<tensor<2xf32>>) -> tensor<2xf32>
func.func @async_done(%arg0: !hlo.future<tensor<2xf32>>) {
  %0 = "hlo.async_done"(%arg0) : (!hlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @composite(
// CHECK: %{{.*}} = hlo.composite "my.op" %{{.*}} {composite_attributes = {n = 1 : i32}, decomposition = @decomposition, version = 2 : i32} : (tensor<f32>) -> tensor<f32>
func.func @composite(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = hlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i32}, decomposition = @decomposition, version = 2 : i32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @decomposition(

func.func @decomposition(%arg0: tensor<f32>) -> tensor<f32> {
  return %arg0 : tensor<f32>
}
