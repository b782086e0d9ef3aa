// Operations that apply a computation across elements: reductions, windows, scans, sorting.
#ifndef HLO_OPS_REDUCTION
#define HLO_OPS_REDUCTION

include "HloAttrs.td"
include "mlir/IR/OpAsmInterface.td"

defvar HLO_ComputationTraits = [
  RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">];

def HLO_MapOp : HLO_InferOp<"map", "C4", HLO_ComputationTraits> {
  let summary = "a computation applied to the elements of its inputs";
  let description = [{
    Constraints:
    - (C1) inputs and result have the same shape.
    - (C2) there is at least one input.
    - (C3) dimensions are all dimensions in order.
    - (C4) computation takes a scalar of each input and returns a scalar of the result.

    ```mlir
    %2 = "hlo.map"(%0, %1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = hlo.multiply %a, %b : tensor<i64>
      hlo.return %c : tensor<i64>
    }) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor:$result);
}

def HLO_ReduceOp : HLO_InferOp<"reduce", "C3, C7, C8", HLO_ComputationTraits # [SameVariadicOperandSize]> {
  let summary = "the elements along dimensions combined into one";
  let description = [{
    Elements are combined in an order the implementation chooses, with any number of initial values between them.

    Constraints:
    - (C1) inputs have the same shape.
    - (C2) an initial value has its input's element type.
    - (C3) there are as many initial values as inputs and results, at least one.
    - (C4) dimensions are dimensions of the inputs.
    - (C5) dimensions are unique.
    - (C6) body is `(E0, ..., E0, ...) -> (E0, ...)` on scalars, where each input's element type widens to its E.
    - (C7) results have the shape of inputs without dimensions.
    - (C8) results have the element types E.

    ```mlir
    %2 = hlo.reduce(%0 init: %1) applies hlo.add across dimensions = [1] : (tensor<1x6xi64>, tensor<i64>) -> tensor<1xi64>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, Variadic<HLO_Tensor>:$init_values, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
}

def HLO_ReduceWindowOp : HLO_InferOp<"reduce_window", "C1, C15, C16",
    HLO_ComputationTraits # [SameVariadicOperandSize]> {
  let summary = "the elements of each window combined into one";
  let description = [{
    Constraints:
    - (C1) there are as many initial values as inputs and results, at least one.
    - (C2) inputs have the same shape.
    - (C3) an initial value has its input's element type.
    - (C4) window_dimensions has an element for each dimension.
    - (C5) window_dimensions are at least 1.
    - (C6) window_strides has an element for each dimension.
    - (C7) window_strides are at least 1.
    - (C8) base_dilations has an element for each dimension.
    - (C9) base_dilations are at least 1.
    - (C10) window_dilations has an element for each dimension.
    - (C11) window_dilations are at least 1.
    - (C12) padding has a row of low and high for each dimension.
    - (C13) body is a reducer as of reduce.
    - (C14) results have the same shape.
    - (C15) the size of the result is the number of places of the window: 0 when the padded, dilated input is empty or
      smaller than the dilated window, else `floor((input - window) / stride) + 1`.
    - (C16) results have the element types of body.

    ```mlir
    %2 = "hlo.reduce_window"(%0, %1) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = hlo.maximum %a, %b : tensor<f32>
      hlo.return %m : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, Variadic<HLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, HLO_OptionalDims:$window_strides,
                       HLO_OptionalDims:$base_dilations, HLO_OptionalDims:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_ScanOp : HLO_InferOp<"scan", "C5", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">,
    AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove]> {
  let summary = "a computation carried along a dimension, with every intermediate result";
  let description = [{
    At each index of `dimension` the body takes a slice of each input and the carries, and returns a slice of each
    output and the next carries.

    Constraints:
    - (C1) dimension is a dimension of each input.
    - (C2) inputs have the same size in it, scan_dim_size if that is given.
    - (C3) body takes the slices and the carries.
    - (C4) body returns slices of the outputs and the carries.
    - (C5) outputs are the slices stacked along dimension; the last results are the last carries.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, Variadic<HLO_Tensor>:$inits, HLO_Dimension:$dimension,
                       OptionalAttr<HLO_Dimension>:$scan_dim_size,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$outputs, Variadic<HLO_Tensor>:$carries);
}

def HLO_SelectAndScatterOp : HLO_InferOp<"select_and_scatter", "C11, C12", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "values scattered to the element that each window selects";
  let description = [{
    `select` picks an element of each window, to which `scatter` adds the element of `source` for that window.

    Constraints:
    - (C1) operand and source have the same element type.
    - (C2) source has an element for each place of the window.
    - (C3) init_value has the element type of operand.
    - (C4) window_dimensions has an element for each dimension.
    - (C5) window_dimensions are at least 1.
    - (C6) window_strides has an element for each dimension.
    - (C7) window_strides are at least 1.
    - (C8) padding has a row of low and high for each dimension.
    - (C9) select is `(E, E) -> i1` on scalars of operand.
    - (C10) scatter is a reducer of a type E that the elements of operand widen to.
    - (C11) the result has the shape of operand.
    - (C12) the result has the element type E.
  }];
  let arguments = (ins HLO_Tensor:$operand, HLO_Tensor:$source, HLO_Tensor:$init_value,
                       HLO_OptionalDims:$window_dimensions, HLO_OptionalDims:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs HLO_Tensor:$result);
}

def HLO_SortOp : HLO_InferOp<"sort", "C2, C3", HLO_ComputationTraits> {
  let summary = "slices along a dimension sorted together";
  let description = [{
    The comparator takes two scalars of each input, in turn, and tells whether the first come before the second.

    Constraints:
    - (C1) there is at least one input.
    - (C2) results have the types of inputs.
    - (C3) inputs and results have the same shape.
    - (C4) dimension is in [-rank, rank).
    - (C5) comparator is `(E0, E0, E1, E1, ...) -> i1` on scalars.

    ```mlir
    %1 = "hlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %less = hlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
      hlo.return %less : tensor<i1>
    }) : (tensor<8xi64>) -> tensor<8xi64>
    ```
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_TopKOp : HLO_InferOp<"top_k", "C2", [Pure]> {
  let summary = "the k largest elements along the last dimension and their indices";
  let description = [{
    Of equal elements the one with the lower index comes first.

    Constraints:
    - (C1) operand has a last dimension of at least k elements.
    - (C2) values and indices (i32) have the shape of operand, k in the last dimension.

    ```mlir
    %values, %indices = hlo.top_k(%0, k = 2) : tensor<3x8xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
    ```
  }];
  let arguments = (ins HLO_Tensor:$operand, I64Attr:$k, DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs HLO_Tensor:$values, HLO_Tensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->`
      `(` type($values) `,` type($indices) `)`
  }];
}

#endif // HLO_OPS_REDUCTION
