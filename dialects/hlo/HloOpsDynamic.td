// Operations whose shapes are operands.
#ifndef HLO_OPS_DYNAMIC
#define HLO_OPS_DYNAMIC

include "HloAttrs.td"

def HLO_DynamicBroadcastInDimOp : HLO_Op<"dynamic_broadcast_in_dim", [Pure]> {
  let summary = "broadcast_in_dim to a computed shape";
  let description = [{
    Constraints:
    - (C1 to C6) are those of broadcast_in_dim.
    - (C7) output_dimensions has an element for each dimension of the result.
    - (C8) the two lists of known dimensions are unique together.
    - (C9) known_expanding_dimensions are dimensions of operand.
    - (C10) known_nonexpanding_dimensions are dimensions of operand.

    ```mlir
    %2 = hlo.dynamic_broadcast_in_dim %0, %1, dims = [2, 1] : (tensor<1x3xi64>, tensor<3xi64>) -> tensor<2x3x2xi64>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, HLO_ShapeTensor:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions, HLO_OptionalDims:$known_expanding_dimensions,
                       HLO_OptionalDims:$known_nonexpanding_dimensions);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:`
      functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DynamicGatherOp : HLO_InferOp<"dynamic_gather", "C13, C14", [Pure]> {
  let summary = "gather with computed slice sizes";
  let description = [{
    Constraints:
    - (C1 to C5) are those of gather.
    - (C6) collapsed_slice_dims are unique and sorted.
    - (C7) collapsed_slice_dims are dimensions of operand.
    - (C8) collapsed_slice_dims have slice sizes of at most 1.
    - (C9) start_index_map are unique.
    - (C10) start_index_map are dimensions of operand.
    - (C11) slice_sizes has an element for each dimension of operand.
    - (C12) slice_sizes are not negative and at most the sizes of operand.
    - (C13) the shape of the result is that of gather.
    - (C14) the result has the element type of operand.
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$start_indices, HLO_Static1DIntTensor:$slice_sizes,
                       HLO_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs HLO_Tensor:$result);
}

def HLO_DynamicIotaOp : HLO_Op<"dynamic_iota", [Pure]> {
  let summary = "iota of a computed shape";
  let description = [{
    Constraints:
    - (C1) iota_dimension is a dimension of the result.
    - (C2) output_shape has an element for each dimension of the result.

    ```mlir
    %1 = hlo.dynamic_iota %0, dim = 0 : (tensor<2xi64>) -> tensor<4x5xi64>
    ```
  }];
  let arguments = (ins HLO_ShapeTensor:$output_shape, I64Attr:$iota_dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DynamicPadOp : HLO_Op<"dynamic_pad", [Pure]> {
  let summary = "pad with computed amounts";
  let description = [{
    Constraints:
    - (C1 to C4) are those of pad.

    ```mlir
    %5 = hlo.dynamic_pad %0, %1, %2, %3, %4 : (tensor<2x3xi64>, tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x9xi64>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_ScalarTensor:$padding_value, HLO_ShapeTensor:$edge_padding_low,
                       HLO_ShapeTensor:$edge_padding_high, HLO_ShapeTensor:$interior_padding);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_DynamicReshapeOp : HLO_Op<"dynamic_reshape", [Pure]> {
  let summary = "reshape to a computed shape";
  let description = [{
    Constraints:
    - (C1 to C3) are those of reshape.
    - (C4) output_shape has an element for each dimension of the result.

    ```mlir
    %2 = hlo.dynamic_reshape %0, %1 : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<3x2xi64>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, HLO_ShapeTensor:$output_shape);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_RealDynamicSliceOp : HLO_Op<"real_dynamic_slice", [Pure]> {
  let summary = "slice with computed start, limit and stride";
  let description = [{
    ```mlir
    %4 = hlo.real_dynamic_slice %0, %1, %2, %3 : (tensor<256x?xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<256x?xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, 1DTensorOf<[HLO_DimensionValue]>:$start_indices,
                       1DTensorOf<[HLO_DimensionValue]>:$limit_indices, 1DTensorOf<[HLO_DimensionValue]>:$strides);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_GetDimensionSizeOp : HLO_InferOp<"get_dimension_size", "", [Pure]> {
  let summary = "size of a dimension";
  let description = [{
    Constraints:
    - (C1) dimension is a dimension of operand.

    ```mlir
    %1 = hlo.get_dimension_size %0, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>
    ```
  }];
  let arguments = (ins HLO_AnyTensor:$operand, I64Attr:$dimension);
  let results = (outs HLO_ScalarOf<[I32]>:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

def HLO_SetDimensionSizeOp : HLO_InferOp<"set_dimension_size", "", [Pure]> {
  let summary = "the operand with a dynamic size for a dimension";
  let description = [{
    The old size becomes the bound of the dimension.

    ```mlir
    %2 = hlo.set_dimension_size %0, %1, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<?x2xf32, #hlo.bounds<4, ?>>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_ScalarOf<[I32]>:$size, I64Attr:$dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "$operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

#endif // HLO_OPS_DYNAMIC
