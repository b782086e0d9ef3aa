// Dot products and convolutions.
#ifndef HLO_OPS_CONTRACTION
#define HLO_OPS_CONTRACTION

include "HloAttrs.td"

def HLO_DotOp : HLO_Op<"dot", [Pure]> {
  let summary = "product of vectors and matrices";
  let description = [{
    The last dimension of `lhs` contracts with the first of `rhs`.

    ```mlir
    %2 = hlo.dot %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$lhs, HLO_AnyTensor:$rhs, OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Precision>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_DotGeneralOp : HLO_Op<"dot_general", [Pure]> {
  let summary = "product over contracting dimensions for each index of the batching dimensions";
  let description = [{
    The result has the batching dimensions, then the others of `lhs`, then the others of `rhs`. Its element type is
    what sums are kept in.

    Constraints:
    - (C1) lhs and rhs have as many batching dimensions.
    - (C2) lhs and rhs have as many contracting dimensions.
    - (C3) batching and contracting dimensions of lhs are unique together.
    - (C4) batching and contracting dimensions of rhs are unique together.
    - (C5) lhs_batching_dimensions are dimensions of lhs.
    - (C6) lhs_contracting_dimensions are dimensions of lhs.
    - (C7) rhs_batching_dimensions are dimensions of rhs.
    - (C8) rhs_contracting_dimensions are dimensions of rhs.
    - (C9) batching dimensions have the same sizes.
    - (C10) contracting dimensions have the same sizes.
    - (C11) precision_config has at most two elements.
    - (C12) the shape of the result is as said.
    - (C13) operands have elements of one kind.
    - (C14) quantized: rhs is, and lhs and result are both or neither.
    - (C15) the zero points of rhs are 0.
    - (C16) rhs is not quantized along a contracting dimension.
    - (C17) lhs and rhs store the same type.
    - (C18) lhs, rhs and result express the same type.
    - (C19) rhs per tensor makes the result per tensor.
    - (C20) without a quantized lhs, lhs and result have the type that rhs expresses.
    - (C21) with an algorithm precision_config is DEFAULT.
    - (C22 to C24) component and operation counts of the algorithm are at least 1.

    ```mlir
    %2 = hlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> tensor<2x2x2xi64>
    ```
  }];
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
  let description = [{
    The groups lie along one dimension of `lhs`. Groups of a dimension that does not contract each meet their own
    matrix of `rhs`; groups of a contracting dimension each give a matrix of the result; groups of a batching
    dimension change nothing.

    Constraints:
    - (C1) lhs_ragged_dimensions is one dimension of lhs.
    - (C2) dimension numbers are those of a dot product, rhs_group_dimensions set apart.
    - (C3) rhs_group_dimensions is one dimension when the ragged one neither contracts nor batches, else none.
    - (C4) group_sizes are one vector, or one for each index of the dimensions before the ragged one.
    - (C5) the shape of the result follows.
    - (C6) precision_config has at most two elements.
  }];
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, HLO_IntTensor:$group_sizes,
                       HLO_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
                       OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def HLO_ConvolutionOp : HLO_Op<"convolution", [Pure]> {
  let summary = "dot products of a kernel with windows of the input";
  let description = [{
    The window slides over the padded, dilated input; the kernel is its dilated contents.

    Constraints:
    - (C1) lhs and rhs have the same rank N.
    - (C2) window_strides has N - 2 elements.
    - (C3) window_strides are at least 1.
    - (C4) padding has N - 2 rows of low and high.
    - (C5) lhs_dilation has N - 2 elements.
    - (C6) lhs_dilation is at least 1.
    - (C7) rhs_dilation has N - 2 elements.
    - (C8) rhs_dilation is at least 1.
    - (C9) window_reversal has N - 2 elements.
    - (C10) batch_group_count divides the input's batch.
    - (C11) feature_group_count divides the input's features.
    - (C12, C17, C19) dimension_numbers has N - 2 spatial dimensions.
    - (C13, C18, C20) its dimensions are 0 to N - 1, each once.
    - (C14) the kernel's input features are the input's, divided by feature_group_count.
    - (C15) batch_group_count divides the kernel's output features.
    - (C16) feature_group_count divides the kernel's output features.
    - (C21) feature_group_count is at least 1.
    - (C22) batch_group_count is at least 1.
    - (C23) feature_group_count or batch_group_count is 1.
    - (C24) precision_config has at most two elements.
    - (C25) a spatial size is the number of places of the window.
    - (C26) the result has rank N.
    - (C27) lhs and rhs have the same element type.
    - (C28, C31 to C34) quantized elements combine as those of dot_general.
    - (C29) rhs is quantized along its output features.
    - (C30) the result is quantized along its features.

    ```mlir
    %2 = hlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [4, 4], pad = [[0, 0], [0, 0]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [0, 0]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>) -> tensor<1x2x2x1xi64>
    ```
  }];
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
  let description = [{
    Constraints are those of convolution; spatial sizes of the result are not checked.

    Constraints:
    - (C4) padding is a tensor of N - 2 rows of low and high.
  }];
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
  let description = [{
    `einsum_config` names each dimension of the operands by a letter: those that the output lacks are summed over.

    ```mlir
    %2 = hlo.einsum %0, %1, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_UnaryEinsumOp : HLO_Op<"unary_einsum", [Pure]> {
  let summary = "sum of one operand in Einstein's notation";
  let description = [{
    ```mlir
    %1 = hlo.unary_einsum %0, config = "ab->a" : (tensor<8x16xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // HLO_OPS_CONTRACTION
