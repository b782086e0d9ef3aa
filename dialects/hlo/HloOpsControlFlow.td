// Control flow, tuples, tokens, and calls.
#ifndef HLO_OPS_CONTROL_FLOW
#define HLO_OPS_CONTROL_FLOW

include "HloAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def HLO_ReturnOp : HLO_Op<"return", [Pure, Terminator]> {
  let summary = "ends a region and gives its results";
  let description = [{
    ```mlir
    hlo.return %0 : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<HLO_ValueOrTuple>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

defvar HLO_RegionTraits = [
  RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">];

def HLO_IfOp : HLO_InferOp<"if", "C3", HLO_RegionTraits> {
  let summary = "one of two computations";
  let description = [{
    Constraints:
    - (C1) branches take nothing.
    - (C2) branches return the same types.
    - (C3) results have the types that branches return.

    ```mlir
    %1 = "hlo.if"(%0) ({
      hlo.return %a : tensor<i32>
    }, {
      hlo.return %b : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    ```
  }];
  let arguments = (ins HLO_ScalarOf<[HLO_Pred]>:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<HLO_TensorOrToken>:$results);
}

def HLO_CaseOp : HLO_InferOp<"case", "C4", HLO_RegionTraits> {
  let summary = "one of several computations; the last for an index out of range";
  let description = [{
    Constraints:
    - (C1) there is at least one branch.
    - (C2) branches take nothing.
    - (C3) branches return the same types.
    - (C4) results have the types that branches return.

    ```mlir
    %1 = "hlo.case"(%0) ({
      hlo.return %a : tensor<i32>
    }, {
      hlo.return %b : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    ```
  }];
  let arguments = (ins HLO_ScalarOf<[I32]>:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<HLO_TensorOrToken>:$results);
}

// A loop may not terminate, hence cannot be speculated.
def HLO_WhileOp : HLO_InferOp<"while", "C3", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>], 0> {
  let summary = "a computation repeated while a condition holds";
  let description = [{
    A loop may not end: it is not speculated.

    Constraints:
    - (C1) cond takes the carried values and returns a boolean.
    - (C2) body takes and returns the carried values.
    - (C3) results have the types of the carried values.

    ```mlir
    %1 = hlo.while(%iterArg = %0) : tensor<i32>
     cond {
      %2 = hlo.compare LT, %iterArg, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %2 : tensor<i1>
    } do {
      %2 = hlo.add %iterArg, %one : tensor<i32>
      hlo.return %2 : tensor<i32>
    }
    ```
  }];
  let arguments = (ins Variadic<HLO_Value>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Value>:$results);
  let hasCustomAssemblyFormat = 1;
}

def HLO_FusionOp : HLO_Op<"fusion", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove]> {
  let summary = "operations that one kernel computes";
  let description = [{
    The region has one argument for each operand, of the operand's type, and returns one value for each result. `kind` is
    what decided the fusion and how it is emitted; `name` names the kernel after its operations and source lines.
  }];
  let arguments = (ins Variadic<HLO_AnyTensor>:$inputs, StrAttr:$kind, OptionalAttr<StrAttr>:$name);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_AnyTensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def HLO_CompositeOp : HLO_Op<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an operation that a function decomposes";
  let description = [{
    Constraints:
    - (C1) name is a namespace, a dot and a name.
    - (C2) decomposition is a function of the module.
    - (C3) inputs have the types of the decomposition's arguments.
    - (C4) results have the types of the decomposition's results.

    ```mlir
    %2 = hlo.composite "my.op" %0, %1 {decomposition = @my_op} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<HLO_ValueOrTuple>:$inputs, StrAttr:$name,
                       DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition, DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<HLO_ValueOrTuple>:$results);
  let assemblyFormat = [{
    $name $inputs (` ` `(` $composite_regions^ `)`)? attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

def HLO_CustomCallOp : HLO_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a computation that the backend knows by name";
  let description = [{
    Calls without `has_side_effect` may be removed or repeated. Layouts are given for all operands and results or for
    none.

    ```mlir
    %1 = hlo.custom_call @foo(%0) {backend_config = {option = 4 : i32}, api_version = 4 : i32} : (tensor<f64>) -> tensor<f64>
    ```
  }];
  let arguments = (ins Variadic<HLO_CustomCallValue>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
                       DefaultValuedOptionalAttr<HLO_CustomCallApiVersionAttr,
                         "::hlo::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
                       DefaultValuedOptionalAttr<HLO_ArrayOfSymbolAttr, "{}">:$called_computations,
                       OptionalAttr<HLO_ArrayOfLayoutAttr>:$operand_layouts,
                       OptionalAttr<HLO_ArrayOfLayoutAttr>:$result_layouts,
                       DefaultValuedOptionalAttr<HLO_ArrayOfAliasAttr, "{}">:$output_operand_aliases,
                       OptionalAttr<HLO_ArrayOfTilingAttr>:$result_tilings);
  let results = (outs Variadic<HLO_CustomCallValue>:$results);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def HLO_OptimizationBarrierOp : HLO_InferOp<"optimization_barrier", "C1", [Pure], 0> {
  let summary = "the operands, computed before anything that uses the results";
  let description = [{
    Constraints:
    - (C1) results have the types of operands.

    ```mlir
    %2:2 = hlo.optimization_barrier %0, %1 : tensor<f32>, tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<HLO_BarrierValue>:$operand);
  let results = (outs Variadic<HLO_BarrierValue>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result))) : (`(` `)`)?
  }];
}

def HLO_TupleOp : HLO_InferOp<"tuple", "C1", [Pure], 0> {
  let summary = "several values as one";
  let description = [{
    Constraints:
    - (C1) the result holds the types of the operands in order.

    ```mlir
    %2 = hlo.tuple %0, %1 : tuple<tensor<2xf32>, tensor<i32>>
    ```
  }];
  let arguments = (ins Variadic<HLO_ValueOrTuple>:$val);
  let results = (outs HLO_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleTypes>(type($val), type($result))";
}

def HLO_GetTupleElementOp : HLO_InferOp<"get_tuple_element", "C2", [Pure], 0> {
  let summary = "one value of a tuple";
  let description = [{
    Constraints:
    - (C1) index is one of operand's.
    - (C2) the result has the type at index.

    ```mlir
    %1 = hlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins HLO_Tuple:$operand, I32Attr:$index);
  let results = (outs HLO_ValueOrTuple:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

def HLO_AfterAllOp : HLO_NullaryInferOp<"after_all",
    "::hlo::TokenType::get(context)", [Pure]> {
  let summary = "a token that follows other tokens";
  let description = [{
    ```mlir
    %2 = hlo.after_all %0, %1 : !hlo.token
    ```
  }];
  let arguments = (ins Variadic<HLO_Token>:$inputs);
  let results = (outs HLO_Token:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:` custom<VariadicTypes>(ref($inputs), type($inputs), type($result))
  }];
}

def HLO_CreateTokenOp : HLO_NullaryInferOp<"create_token",
    "::hlo::TokenType::get(context)", [Pure]> {
  let summary = "a token that follows nothing";
  let description = [{
    ```mlir
    %0 = hlo.create_token : !hlo.token
    ```
  }];
  let results = (outs HLO_Token:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def HLO_AsyncStartOp : HLO_InferOp<"async_start", "C4", [
    SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove]> {
  let summary = "begins a collective operation";
  let description = [{
    Constraints:
    - (C1) body holds one operation and a return.
    - (C2) that operation is a collective operation or a slice.
    - (C3) that operation takes the operands in order.
    - (C4) the result is a future of that operation's results.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs HLO_Future:$result);
}

def HLO_AsyncDoneOp : HLO_InferOp<"async_done", "C1", [], 0> {
  let summary = "waits for a collective operation and gives its results";
  let description = [{
    Constraints:
    - (C1) results are those that operand promises.
  }];
  let arguments = (ins HLO_Future:$operand);
  let results = (outs Variadic<HLO_AnyTensor>:$results);
}

#endif // HLO_OPS_CONTROL_FLOW
