// Dot products and convolutions.
#ifndef HLO_OPS_CONTRACTION
#define HLO_OPS_CONTRACTION

include "HloAttrs.td"

def HLO_DotOp : HLO_Op<"dot", [Pure]> {
  let summary = "product of vectors and matrices";
  let arguments = (ins HLO_Tensor:$lhs, HLO_AnyTensor:$rhs, OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Precision>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DotGeneralOp : HLO_Op<"dot_general", [Pure]> {
  let summary = "product over contracting dimensions for each index of the batching dimensions";
  let arguments = (ins HLO_Tensor:$lhs, HLO_AnyTensor:$rhs, HLO_DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config,
                       OptionalAttr<HLO_DotAlgorithm>:$algorithm);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensions>($dot_dimension_numbers) ``
      custom<PrecisionAndAlgorithm>($precision_config, $algorithm) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_RaggedDotOp : HLO_Op<"ragged_dot", [Pure]> {
  let summary = "product of matrices whose rows or columns come in groups of different sizes";
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, HLO_IntTensor:$group_sizes,
                       HLO_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
                       OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def HLO_ConvolutionOp : HLO_Op<"convolution", [Pure]> {
  let summary = "dot products of a kernel with windows of the input";
  let arguments = (ins HLO_Tensor:$lhs, HLO_AnyTensor:$rhs, HLO_OptionalDims:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding, HLO_OptionalDims:$lhs_dilation,
                       HLO_OptionalDims:$rhs_dilation, OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       HLO_ConvDimensionNumbers:$dimension_numbers, I64Attr:$feature_group_count,
                       I64Attr:$batch_group_count, OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvDimensions>($dimension_numbers) `,` `window` `=` `{`
      custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}`
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DynamicConvOp : HLO_Op<"dynamic_conv", [Pure]> {
  let summary = "a convolution whose padding is computed";
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, HLO_Static2DIntTensor:$padding,
                       HLO_OptionalDims:$window_strides, HLO_OptionalDims:$lhs_dilation, HLO_OptionalDims:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal, HLO_ConvDimensionNumbers:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def HLO_EinsumOp : HLO_Op<"einsum", [Pure]> {
  let summary = "sum of products in Einstein's notation";
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_UnaryEinsumOp : HLO_Op<"unary_einsum", [Pure]> {
  let summary = "sum of one operand in Einstein's notation";
  let arguments = (ins HLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // HLO_OPS_CONTRACTION
