// Types of the dialect and the type constraints its operations use.
#ifndef HLO_TYPES
#define HLO_TYPES

include "HloDialect.td"
include "mlir/IR/AttrTypeBase.td"

class HLO_TypeDef<string name, string typeMnemonic> : TypeDef<Hlo_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def HLO_TokenType : HLO_TypeDef<"Token", "token"> {
  let summary = "orders side effects";
  let description = "A value without data. Operations with effects take and give tokens, which orders them.";
}

def HLO_FutureType : HLO_TypeDef<"Future", "future"> {
  let summary = "results of an asynchronous operation that may not have completed";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

// ---- Element types ----
class HLO_ElementType<string predicate, string summary> :
    Type<CPred<"::hlo::" # predicate # "($_self)">, summary>;

def HLO_Pred : HLO_ElementType<"isPred", "bool">;
def HLO_SInt : HLO_ElementType<"isSignedInteger", "2/4/8/16/32/64-bit signed integer">;
def HLO_UInt : HLO_ElementType<"isUnsignedInteger", "2/4/8/16/32/64-bit unsigned integer">;
def HLO_Int : HLO_ElementType<"isInteger", "2/4/8/16/32/64-bit integer">;
def HLO_Float : HLO_ElementType<"isFloat", "4/6/8/16/32/64-bit float">;
def HLO_Float32Or64 : HLO_ElementType<"isFloat32Or64", "32/64-bit float">;
def HLO_Complex : HLO_ElementType<"isComplex", "complex of 32/64-bit float">;
def HLO_Quantized : HLO_ElementType<"isQuantizedPerTensor", "per-tensor quantized integer">;
def HLO_PerAxisQuantized : HLO_ElementType<"isQuantizedPerAxis", "per-axis quantized integer">;
def HLO_DimensionValue : HLO_ElementType<"isDimensionValue", "integer or index">;

// ---- Tensors ----
def HLO_ValidQuantizedDimension : CPred<"::hlo::hasValidQuantizedDimension($_self)">;

class HLO_TensorOf<list<Type> elements> : RankedTensorOf<elements>;
class HLO_ScalarOf<list<Type> elements> : 0DTensorOf<elements>;
class HLO_PerAxisTensorOf<list<Type> elements> : RankedTensorOf<elements, [HLO_ValidQuantizedDimension]>;

defvar HLO_PlainElements = [HLO_Float, HLO_Pred, HLO_Int, HLO_Complex];
defvar HLO_Elements = [HLO_Float, HLO_Pred, HLO_Int, HLO_Complex, HLO_Quantized];
defvar HLO_AllElements = [HLO_Float, HLO_Pred, HLO_Int, HLO_Complex, HLO_Quantized, HLO_PerAxisQuantized];

def HLO_Tensor : HLO_TensorOf<HLO_Elements>;
def HLO_ScalarTensor : HLO_ScalarOf<HLO_Elements>;
def HLO_PlainTensor : HLO_TensorOf<HLO_PlainElements>;
def HLO_AnyTensor : HLO_PerAxisTensorOf<HLO_AllElements>;
def HLO_PredTensor : HLO_TensorOf<[HLO_Pred]>;
def HLO_IntTensor : HLO_TensorOf<[HLO_Int]>;
def HLO_ScalarIntTensor : HLO_ScalarOf<[HLO_Int]>;
def HLO_FloatTensor : HLO_TensorOf<[HLO_Float]>;
def HLO_Float32Or64Tensor : HLO_TensorOf<[HLO_Float32Or64]>;
def HLO_ComplexTensor : HLO_TensorOf<[HLO_Complex]>;
def HLO_PredOrIntTensor : HLO_TensorOf<[HLO_Pred, HLO_Int]>;
def HLO_IntOrFloatTensor : HLO_TensorOf<[HLO_Int, HLO_Float]>;
def HLO_FloatOrComplexTensor : HLO_TensorOf<[HLO_Float, HLO_Complex]>;
def HLO_FloatOrQuantizedTensor : HLO_TensorOf<[HLO_Float, HLO_Quantized]>;
def HLO_FloatComplexOrQuantizedTensor : HLO_TensorOf<[HLO_Float, HLO_Complex, HLO_Quantized]>;
def HLO_NumberTensor : HLO_TensorOf<[HLO_Int, HLO_Float, HLO_Complex, HLO_Quantized]>;
def HLO_PredIntOrFloatTensor : HLO_TensorOf<[HLO_Pred, HLO_Int, HLO_Float]>;
def HLO_QuantizedTensor : HLO_PerAxisTensorOf<[HLO_Quantized, HLO_PerAxisQuantized]>;
def HLO_IndexTensor : HLO_TensorOf<[HLO_DimensionValue]>;

// Of static shape, or with one dynamic dimension that has a bound.
def HLO_StaticOrBoundedTensor : RankedTensorOf<
    HLO_AllElements, [HLO_ValidQuantizedDimension, CPred<"::hlo::isStaticOrBounded($_self)">],
    "statically shaped or single bounded dimension tensor">;

// A shape, or another list of one number a dimension, as a tensor: its own length is static.
def HLO_ShapeTensor : RankedTensorOf<[HLO_DimensionValue], [HasStaticShapePred, HasAnyRankOfPred<[1]>],
                                     "statically shaped 1-dimensional integer or index tensor">;
def HLO_Static1DIntTensor : RankedTensorOf<[HLO_Int], [HasStaticShapePred, HasAnyRankOfPred<[1]>],
                                           "statically shaped 1-dimensional integer tensor">;
def HLO_Static2DIntTensor : RankedTensorOf<[HLO_Int], [HasStaticShapePred, HasAnyRankOfPred<[2]>],
                                           "statically shaped 2-dimensional integer tensor">;

// ---- Other values ----
def HLO_Token : Type<CPred<"::llvm::isa<::hlo::TokenType>($_self)">, "token">;
def HLO_Future : Type<CPred<"::llvm::isa<::hlo::FutureType>($_self)">, "future">;
def HLO_Buffer : MemRefOf<HLO_Elements>;
def HLO_Tuple : NestedTupleOf<[HLO_AnyTensor, HLO_Buffer, HLO_Token]>;
def HLO_TensorOrToken : AnyTypeOf<[HLO_AnyTensor, HLO_Token]>;
def HLO_BarrierValue : AnyTypeOf<[HLO_Tensor, HLO_Token]>;
def HLO_Value : AnyTypeOf<[HLO_AnyTensor, HLO_Token, HLO_Buffer]>;
def HLO_ValueOrTuple : AnyTypeOf<[HLO_AnyTensor, HLO_Token, HLO_Tuple, HLO_Buffer]>;
def HLO_CustomCallTensor : TensorOf<HLO_AllElements>;
def HLO_CustomCallTuple : NestedTupleOf<[HLO_CustomCallTensor, HLO_Buffer, HLO_Token]>;
def HLO_CustomCallValue :
    AnyTypeOf<[HLO_CustomCallTensor, HLO_Buffer, HLO_Token, HLO_CustomCallTuple, HLO_Future]>;

#endif // HLO_TYPES
