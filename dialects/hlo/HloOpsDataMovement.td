// Operations that place, move and select elements without computing on them.
#ifndef HLO_OPS_DATA_MOVEMENT
#define HLO_OPS_DATA_MOVEMENT

include "HloAttrs.td"
include "mlir/IR/OpAsmInterface.td"

def HLO_ConstantOp : HLO_InferOp<"constant", "C1", [
    Pure, ConstantLike, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "tensor of known elements";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs HLO_AnyTensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def HLO_IotaOp : HLO_Op<"iota", [Pure]> {
  let summary = "each element's index along a dimension";
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs HLO_NumberTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def HLO_BitcastConvertOp : HLO_Op<"bitcast_convert", [Pure]> {
  let summary = "the same bits read as another element type";
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_BroadcastOp : HLO_InferOp<"broadcast", "", [Pure]> {
  let keepsQuantization = 1;
  let summary = "adds leading dimensions that repeat the operand";
  let arguments = (ins HLO_AnyTensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_BroadcastInDimOp : HLO_Op<"broadcast_in_dim", [Pure]> {
  let summary = "maps the operand's dimensions to the result's and repeats it along the others";
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
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsThenComma>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_CopyOp : HLO_Op<"copy", [Pure]> {
  let summary = "the same elements, possibly in another layout";
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
  let hasVerifier = 1;
}

def HLO_DynamicSliceOp : HLO_InferOp<"dynamic_slice", "C5", [Pure]> {
  let keepsQuantization = 1;
  let summary = "a slice whose start is computed, clamped into the operand";
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
  let arguments = (ins HLO_Tensor:$operand, HLO_Tensor:$update, Variadic<HLO_ScalarIntTensor>:$start_indices);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def HLO_GatherOp : HLO_InferOp<"gather", "C22, C23", [Pure]> {
  let keepsQuantization = 1;
  let summary = "slices of the operand at computed indices";
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$start_indices,
                       HLO_GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs HLO_Tensor:$result);
}

def HLO_PadOp : HLO_InferOp<"pad", "C1, C4", [Pure]> {
  let keepsQuantization = 1;
  let summary = "elements added before, after and between; negative amounts remove";
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
  let arguments = (ins HLO_AnyTensor:$operand);
  let results = (outs HLO_StaticOrBoundedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def HLO_ReverseOp : HLO_InferOp<"reverse", "C1", [Pure]> {
  let keepsQuantization = 1;
  let summary = "elements in reverse order along dimensions";
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
  let arguments = (ins HLO_Tensor:$operand, HLO_IntTensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def HLO_TransposeOp : HLO_InferOp<"transpose", "C1, C3, C4", [Pure]> {
  let keepsQuantization = 1;
  let summary = "dimensions in another order";
  let arguments = (ins HLO_AnyTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}

#endif // HLO_OPS_DATA_MOVEMENT
