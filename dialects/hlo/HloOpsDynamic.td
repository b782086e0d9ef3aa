// Operations whose shapes are operands.
#ifndef HLO_OPS_DYNAMIC
#define HLO_OPS_DYNAMIC

include "HloAttrs.td"

def HLO_DynamicBroadcastInDimOp : HLO_Op<"dynamic_broadcast_in_dim", [Pure]> {
  let summary = "broadcast_in_dim to a computed shape";
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

def HLO_DynamicGatherOp : HLO_InferOp<"dynamic_gather", "C1", [Pure]> {
  let summary = "gather with computed slice sizes";
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$start_indices, HLO_Static1DIntTensor:$slice_sizes,
                       HLO_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs HLO_Tensor:$result);
}

def HLO_DynamicIotaOp : HLO_Op<"dynamic_iota", [Pure]> {
  let summary = "iota of a computed shape";
  let arguments = (ins HLO_ShapeTensor:$output_shape, I64Attr:$iota_dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DynamicPadOp : HLO_Op<"dynamic_pad", [Pure]> {
  let summary = "pad with computed amounts";
  let arguments = (ins HLO_Tensor:$operand, HLO_ScalarTensor:$padding_value, HLO_ShapeTensor:$edge_padding_low,
                       HLO_ShapeTensor:$edge_padding_high, HLO_ShapeTensor:$interior_padding);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_DynamicReshapeOp : HLO_Op<"dynamic_reshape", [Pure]> {
  let summary = "reshape to a computed shape";
  let arguments = (ins HLO_AnyTensor:$operand, HLO_ShapeTensor:$output_shape);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_RealDynamicSliceOp : HLO_Op<"real_dynamic_slice", [Pure]> {
  let summary = "slice with computed start, limit and stride";
  let arguments = (ins HLO_Tensor:$operand, 1DTensorOf<[HLO_DimensionValue]>:$start_indices,
                       1DTensorOf<[HLO_DimensionValue]>:$limit_indices, 1DTensorOf<[HLO_DimensionValue]>:$strides);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_GetDimensionSizeOp : HLO_InferOp<"get_dimension_size", "", [Pure]> {
  let summary = "size of a dimension";
  let arguments = (ins HLO_AnyTensor:$operand, I64Attr:$dimension);
  let results = (outs HLO_ScalarOf<[I32]>:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

def HLO_SetDimensionSizeOp : HLO_InferOp<"set_dimension_size", "", [Pure]> {
  let summary = "the operand with a dynamic size for a dimension";
  let arguments = (ins HLO_Tensor:$operand, HLO_ScalarOf<[I32]>:$size, I64Attr:$dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "$operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

#endif // HLO_OPS_DYNAMIC
