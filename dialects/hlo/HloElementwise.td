// Classes of elementwise operations.
#ifndef HLO_ELEMENTWISE
#define HLO_ELEMENTWISE

include "HloAttrs.td"

// Results and operands have one type, up to dynamic sizes.
class HLO_UnaryOp<string mnemonic, Type operandType, string constraints = "C1", list<Trait> traits = []> :
    HLO_InferOp<mnemonic, constraints, traits # [Pure]> {
  let arguments = (ins operandType:$operand);
  let results = (outs operandType:$result);
  let description = [{
    Constraints:
    - (C1) operands and result have the same type, up to the parameters of quantization.
  }];
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
  let extraClassDefinition = inferDefinition # [{
    ::llvm::LogicalResult $cppClass::inferTypes(const ::hlo::Checker &check, Adaptor adaptor,
                                                ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::hlo::inferSameAsOperands(check, adaptor.getOperands(), types);
    }
  }];
}

// The operand type alone decides the result's; `inferTypes` is the operation's own.
class HLO_UnaryOpOwnResult<string mnemonic, string constraints, Type operandType, Type resultType> :
    HLO_InferOp<mnemonic, constraints, [Pure]> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let description = [{
    Constraints:
    - (C1) operand and result have the same shape.
    - (C2) the result has the element type of operand, or of its parts when operand is complex.
  }];
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
}

// A function whose result is approximate; the attribute asks for an accuracy.
class HLO_TranscendentalOp<string mnemonic> : HLO_UnaryOp<mnemonic, HLO_FloatComplexOrQuantizedTensor> {
  let arguments = (ins HLO_FloatComplexOrQuantizedTensor:$operand,
                       OptionalAttr<HLO_ResultAccuracyAttr>:$result_accuracy);
}

class HLO_BinaryOp<string mnemonic, Type operandType, string constraints = "C1", list<Trait> traits = []> :
    HLO_InferOp<mnemonic, constraints, traits # [Pure]> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs operandType:$result);
  let description = [{
    Constraints:
    - (C1) operands and result have the same type, up to the parameters of quantization.
  }];
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ElementwiseTypes>(type($lhs), type($rhs), type($result))
  }];
  let extraClassDefinition = inferDefinition # [{
    ::llvm::LogicalResult $cppClass::inferTypes(const ::hlo::Checker &check, Adaptor adaptor,
                                                ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::hlo::inferSameAsOperands(check, adaptor.getOperands(), types);
    }
  }];
}

#endif // HLO_ELEMENTWISE
