// Operations that place, move and select elements without computing on them.
#ifndef HLO_OPS_DATA_MOVEMENT
#define HLO_OPS_DATA_MOVEMENT

include "HloAttrs.td"
include "mlir/IR/OpAsmInterface.td"

def HLO_ConstantOp : HLO_InferOp<"constant", "C1", [
    Pure, ConstantLike, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "tensor of known elements";
  let description = [{
    Constraints:
    - (C1) output has the type of value.

    ```mlir
    %0 = hlo.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs HLO_AnyTensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def HLO_IotaOp : HLO_Op<"iota", [Pure]> {
  let summary = "each element's index along a dimension";
  let description = [{
    Constraints:
    - (C1) iota_dimension is a dimension of output.

    ```mlir
    %0 = hlo.iota dim = 0 : tensor<4x5xi32>
    ```
  }];
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs HLO_NumberTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def HLO_BitcastConvertOp : HLO_Op<"bitcast_convert", [Pure]> {
  let summary = "the same bits read as another element type";
  let description = [{
    Where widths differ, the side with narrower elements has a trailing dimension that holds the parts, least
    significant first.

    Constraints:
    - (C1) shapes agree, but for that trailing dimension, whose size is the ratio of the widths.
    - (C2) operand and result are both complex or neither.

    ```mlir
    %1 = hlo.bitcast_convert %0 : (tensor<f64>) -> tensor<4xf16>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_BroadcastOp : HLO_InferOp<"broadcast", "", [Pure]> {
  let keepsQuantization = 1;
  let summary = "adds leading dimensions that repeat the operand";
  let description = [{
    ```mlir
    %1 = hlo.broadcast %0, sizes = [2] : (tensor<3xi32>) -> tensor<2x3xi32>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_BroadcastInDimOp : HLO_Op<"broadcast_in_dim", [Pure]> {
  let summary = "maps the operand's dimensions to the result's and repeats it along the others";
  let description = [{
    Dimension `d` of the operand is dimension `broadcast_dimensions[d]` of the result.

    Constraints:
    - (C1) the element types agree; of per-axis quantization the parameters may differ.
    - (C2) broadcast_dimensions has an element for each dimension of operand.
    - (C3) broadcast_dimensions are dimensions of the result.
    - (C4) broadcast_dimensions are unique.
    - (C5) each dimension of operand has size 1 or that of the result's.
    - (C6) per-axis quantization moves along and repeats.

    ```mlir
    %1 = hlo.broadcast_in_dim %0, dims = [2, 1] : (tensor<1x3xi32>) -> tensor<2x3x2xi32>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs HLO_StaticOrBoundedTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_ConcatenateOp : HLO_InferOp<"concatenate", "C5, C6", [Pure]> {
  let keepsQuantization = 1;
  let summary = "operands one after another along a dimension";
  let description = [{
    Constraints:
    - (C1) inputs have the same element type.
    - (C2) inputs have the same shape but for dimension.
    - (C3) there is at least one input.
    - (C4) dimension is a dimension of the inputs.
    - (C5) the result has the element type of the inputs.
    - (C6) the result has the shape of the inputs, their sizes added in dimension.

    ```mlir
    %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<3x2xi64>, tensor<1x2xi64>) -> tensor<4x2xi64>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsThenComma>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_CopyOp : HLO_Op<"copy", [Pure]> {
  let summary = "the same elements, possibly in another layout";
  let description = [{
    The operand and the result have the same type but for the layout.

    ```mlir
    %1 = hlo.copy %0 : (tensor<2x3xf32>) -> tensor<2x3xf32, #hlo.layout<[0, 1]>>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
  let hasVerifier = 1;
}

def HLO_DynamicSliceOp : HLO_InferOp<"dynamic_slice", "C1, C5", [Pure]> {
  let keepsQuantization = 1;
  let summary = "a slice whose start is computed, clamped into the operand";
  let description = [{
    Constraints:
    - (C1) operand and result have the same element type.
    - (C2) start_indices and slice_sizes have an element for each dimension.
    - (C3) start_indices have the same type.
    - (C4) slice_sizes are not negative and at most the sizes of operand.
    - (C5) the result has the shape slice_sizes.

    ```mlir
    %3 = hlo.dynamic_slice %0, %1, %2, sizes = [2, 2] : (tensor<4x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, Variadic<HLO_ScalarIntTensor>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenComma>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
      functional-type(operands, results)
  }];
}

def HLO_DynamicUpdateSliceOp : HLO_InferOp<"dynamic_update_slice", "C1", [Pure]> {
  let keepsQuantization = 1;
  let summary = "the operand with a slice replaced, its start clamped into the operand";
  let description = [{
    Constraints:
    - (C1) operand and result have the same type.
    - (C2) operand and update have the same element type.
    - (C3) operand and update have the same rank.
    - (C4) start_indices have an element for each dimension.
    - (C5) start_indices have the same type.
    - (C6) update is at most as large as operand.

    ```mlir
    %4 = hlo.dynamic_update_slice %0, %1, %2, %3 : (tensor<4x4xi32>, tensor<2x2xi32>, tensor<i64>, tensor<i64>) -> tensor<4x4xi32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_Tensor:$update, Variadic<HLO_ScalarIntTensor>:$start_indices);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def HLO_GatherOp : HLO_InferOp<"gather", "C22, C23", [Pure]> {
  let keepsQuantization = 1;
  let summary = "slices of the operand at computed indices";
  let description = [{
    A start index beyond the operand is clamped so that the slice fits.

    Constraints:
    - (C1) offset_dims, collapsed_slice_dims and operand_batching_dims have as many elements together as operand has
      dimensions.
    - (C2) index_vector_dim is a dimension of start_indices, or their rank.
    - (C3) start_index_map has an element for each of an index vector.
    - (C4) offset_dims are unique and sorted.
    - (C5) offset_dims are dimensions of the result.
    - (C6) collapsed_slice_dims and operand_batching_dims are unique together.
    - (C7) collapsed_slice_dims are sorted.
    - (C8) collapsed_slice_dims are dimensions of operand.
    - (C9) collapsed_slice_dims have slice sizes of at most 1.
    - (C10) operand_batching_dims are sorted.
    - (C11) operand_batching_dims are dimensions of operand.
    - (C12) operand_batching_dims have slice sizes of at most 1.
    - (C13) start_indices_batching_dims are unique.
    - (C14) start_indices_batching_dims are dimensions of start_indices.
    - (C15) index_vector_dim is not among start_indices_batching_dims.
    - (C16) there are as many operand_batching_dims as start_indices_batching_dims.
    - (C17) batching dimensions of operand and start_indices have the same sizes.
    - (C18) start_index_map and operand_batching_dims are unique together.
    - (C19) start_index_map are dimensions of operand.
    - (C20) slice_sizes has an element for each dimension of operand.
    - (C21) slice_sizes are not negative and at most the sizes of operand.
    - (C22) the shape of the result is that of start_indices without index_vector_dim, with the slice sizes that
      remain at offset_dims.
    - (C23) the result has the element type of operand.

    ```mlir
    %2 = "hlo.gather"(%0, %1) <{
      dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                      index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 4>
    }> : (tensor<9x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$start_indices,
                       HLO_GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs HLO_Tensor:$result);
}

def HLO_PadOp : HLO_InferOp<"pad", "C1, C4", [Pure]> {
  let keepsQuantization = 1;
  let summary = "elements added before, after and between; negative amounts remove";
  let description = [{
    Constraints:
    - (C1) operand, padding_value and result have the same element type.
    - (C2) the three amounts have an element for each dimension.
    - (C3) interior_padding is not negative.
    - (C4) the size of the result is `size + low + max(size - 1, 0) * interior + high`.

    ```mlir
    %2 = hlo.pad %0, %1, low = [0, 1], high = [2, 1], interior = [1, 2] : (tensor<2x3xi32>, tensor<i32>) -> tensor<5x9xi32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_ScalarTensor:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DenseI64ArrayAttr:$interior_padding);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
      `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_ReshapeOp : HLO_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Constraints:
    - (C1) the element types agree; of per-axis quantization the dimension may differ.
    - (C2) operand and result have as many elements.
    - (C3) the quantized dimension keeps its size and the number of elements on either side.

    ```mlir
    %1 = hlo.reshape %0 : (tensor<2x3xi32>) -> tensor<3x2xi32>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_StaticOrBoundedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_ReverseOp : HLO_InferOp<"reverse", "C1", [Pure]> {
  let keepsQuantization = 1;
  let summary = "elements in reverse order along dimensions";
  let description = [{
    Constraints:
    - (C1) operand and result have the same type.
    - (C2) dimensions are unique.
    - (C3) dimensions are dimensions of the result.

    ```mlir
    %1 = hlo.reverse %0, dims = [1] : tensor<3x2xi32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))
  }];
}

def HLO_ScatterOp : HLO_InferOp<"scatter", "C24, C25", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the inputs with slices combined with updates at computed indices";
  let description = [{
    Updates whose index lies outside the inputs are dropped. The computation takes the old elements, then the updates.

    Constraints:
    - (C1) inputs have the same shape.
    - (C2) update_window_dims, inserted_window_dims and input_batching_dims have as many elements together as an input
      has dimensions.
    - (C3) updates have the same shape.
    - (C4) the shape of updates is that of scatter_indices without index_vector_dim, with window sizes of at most the
      inputs' at update_window_dims.
    - (C5) there are as many updates as inputs, at least one.
    - (C6) an update has its input's element type.
    - (C7) update_window_dims are unique and sorted.
    - (C8) update_window_dims are dimensions of updates.
    - (C9) inserted_window_dims and input_batching_dims are unique together.
    - (C10) inserted_window_dims are sorted.
    - (C11) inserted_window_dims are dimensions of inputs.
    - (C12) input_batching_dims are sorted.
    - (C13) input_batching_dims are dimensions of inputs.
    - (C14) scatter_indices_batching_dims are unique.
    - (C15) scatter_indices_batching_dims are dimensions of scatter_indices.
    - (C16) index_vector_dim is not among scatter_indices_batching_dims.
    - (C17) there are as many input_batching_dims as scatter_indices_batching_dims.
    - (C18) batching dimensions of inputs and scatter_indices have the same sizes.
    - (C19) scatter_dims_to_operand_dims has an element for each of an index vector.
    - (C20) scatter_dims_to_operand_dims and input_batching_dims are unique together.
    - (C21) scatter_dims_to_operand_dims are dimensions of inputs.
    - (C22) index_vector_dim is a dimension of scatter_indices, or their rank.
    - (C23) update_computation is `(E0, ..., E0, ...) -> (E0, ...)` on scalars, where each input's element type widens
      to its E.
    - (C24) results have the shape of inputs.
    - (C25) results have the element types E.

    ```mlir
    %3 = "hlo.scatter"(%0, %1, %2) <{
      scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
                                               scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
    }> ({
    ^bb0(%old: tensor<f32>, %update: tensor<f32>):
      %sum = hlo.add %old, %update : tensor<f32>
      hlo.return %sum : tensor<f32>
    }) : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, HLO_TensorOf<[HLO_DimensionValue]>:$scatter_indices,
                       Variadic<HLO_Tensor>:$updates, HLO_ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_SliceOp : HLO_InferOp<"slice", "C1, C5", [Pure]> {
  let keepsQuantization = 1;
  let summary = "every stride-th element between start and limit";
  let description = [{
    Constraints:
    - (C1) operand and result have the same element type.
    - (C2) start_indices, limit_indices and strides have an element for each dimension.
    - (C3) `0 <= start <= limit <= size`.
    - (C4) strides are at least 1.
    - (C5) the size of the result is `ceil((limit - start) / stride)`.

    ```mlir
    %1 = hlo.slice %0 [1:3, 0:4:2] : (tensor<3x4xi64>) -> tensor<2x2xi64>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:`
      functional-type(operands, results)
  }];
}

def HLO_TorchIndexSelectOp : HLO_Op<"torch_index_select", [Pure]> {
  let summary = "slices of the operand along a dimension, chosen by index";
  let description = [{
    ```mlir
    %2 = "hlo.torch_index_select"(%0, %1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x1x5xi32>, tensor<2xi32>) -> tensor<2x1x5xi32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def HLO_TransposeOp : HLO_InferOp<"transpose", "C1, C3, C4", [Pure]> {
  let keepsQuantization = 1;
  let summary = "dimensions in another order";
  let description = [{
    Constraints:
    - (C1) the element types agree; of per-axis quantization the dimension may differ.
    - (C2) permutation is one of the dimensions of operand.
    - (C3) dimension `d` of the result is dimension `permutation[d]` of operand.
    - (C4) per-axis quantization moves with its dimension.

    ```mlir
    %1 = hlo.transpose %0, dims = [2, 1, 0] : (tensor<2x3x4xi32>) -> tensor<4x3x2xi32>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}

#endif // HLO_OPS_DATA_MOVEMENT
