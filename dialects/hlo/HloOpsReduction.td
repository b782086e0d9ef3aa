// Operations that apply a computation across elements: reductions, windows, scans, sorting.
#ifndef HLO_OPS_REDUCTION
#define HLO_OPS_REDUCTION

include "HloAttrs.td"
include "mlir/IR/OpAsmInterface.td"

defvar HLO_ComputationTraits = [
  RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">];

def HLO_MapOp : HLO_InferOp<"map", "C4", HLO_ComputationTraits> {
  let summary = "a computation applied to the elements of its inputs";
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor:$result);
}

def HLO_ReduceOp : HLO_InferOp<"reduce", "C3, C7, C8", HLO_ComputationTraits # [SameVariadicOperandSize]> {
  let summary = "the elements along dimensions combined into one";
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, Variadic<HLO_Tensor>:$init_values, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
}

def HLO_ReduceWindowOp : HLO_InferOp<"reduce_window", "C1, C15, C16",
    HLO_ComputationTraits # [SameVariadicOperandSize]> {
  let summary = "the elements of each window combined into one";
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
  let arguments = (ins HLO_Tensor:$operand, HLO_Tensor:$source, HLO_Tensor:$init_value,
                       HLO_OptionalDims:$window_dimensions, HLO_OptionalDims:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs HLO_Tensor:$result);
}

def HLO_SortOp : HLO_InferOp<"sort", "C2, C3", HLO_ComputationTraits> {
  let summary = "slices along a dimension sorted together";
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_TopKOp : HLO_InferOp<"top_k", "C2", [Pure]> {
  let summary = "the k largest elements along the last dimension and their indices";
  let arguments = (ins HLO_Tensor:$operand, I64Attr:$k, DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs HLO_Tensor:$values, HLO_Tensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->`
      `(` type($values) `,` type($indices) `)`
  }];
}

#endif // HLO_OPS_REDUCTION
