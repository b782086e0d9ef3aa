// Functions that StableHLO programs take from the CHLO dialect.
#ifndef HLO_OPS_MATH
#define HLO_OPS_MATH

include "HloElementwise.td"

class HLO_SpecialFunctionOp<string mnemonic, Type type> : HLO_UnaryOp<mnemonic, type> {
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}
class HLO_FloatClassOp<string mnemonic> : HLO_InferOp<mnemonic, "C1", [Pure]> {
  let arguments = (ins HLO_FloatTensor:$operand);
  let results = (outs HLO_PredTensor:$result);
  let description = [{
    Constraints:
    - (C1) operand and result have the same shape.
  }];
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let extraClassDefinition = inferDefinition # [{
    ::llvm::LogicalResult $cppClass::inferTypes(const ::hlo::Checker &check, Adaptor adaptor,
                                                ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::hlo::inferPredOfShape(check, adaptor.getOperands(), types);
    }
  }];
}

def HLO_AsinAcosKernelOp : HLO_SpecialFunctionOp<"_asin_acos_kernel", HLO_ComplexTensor> {
  let summary = "the part that complex arc sine and arc cosine share";
  let description = [{
    With `w` the result for `z`: asin(z) is `complex(atan2(real(z), real(w)), sign(imag(z)) * imag(w))` and acos(z) is
    `complex(atan2(real(w), real(z)), -sign(imag(z)) * imag(w))`.
  }];
}
def HLO_AcosOp : HLO_SpecialFunctionOp<"acos", HLO_FloatOrComplexTensor> { let summary = "arc cosine"; }
def HLO_AcoshOp : HLO_SpecialFunctionOp<"acosh", HLO_FloatOrComplexTensor> { let summary = "inverse hyperbolic cosine"; }
def HLO_AsinOp : HLO_SpecialFunctionOp<"asin", HLO_FloatOrComplexTensor> { let summary = "arc sine"; }
def HLO_AsinhOp : HLO_SpecialFunctionOp<"asinh", HLO_FloatOrComplexTensor> { let summary = "inverse hyperbolic sine"; }
def HLO_AtanOp : HLO_SpecialFunctionOp<"atan", HLO_FloatOrComplexTensor> { let summary = "arc tangent"; }
def HLO_AtanhOp : HLO_SpecialFunctionOp<"atanh", HLO_FloatOrComplexTensor> {
  let summary = "inverse hyperbolic tangent";
}
def HLO_BesselI1eOp : HLO_SpecialFunctionOp<"bessel_i1e", HLO_FloatOrComplexTensor> {
  let summary = "modified Bessel function of order 1, scaled by exp(-|x|)";
}
def HLO_ConjOp : HLO_SpecialFunctionOp<"conj", HLO_FloatOrComplexTensor> { let summary = "complex conjugate"; }
def HLO_CoshOp : HLO_SpecialFunctionOp<"cosh", HLO_FloatOrComplexTensor> { let summary = "hyperbolic cosine"; }
def HLO_DigammaOp : HLO_SpecialFunctionOp<"digamma", HLO_FloatTensor> {
  let summary = "logarithmic derivative of the gamma function";
}
def HLO_ErfOp : HLO_SpecialFunctionOp<"erf", HLO_FloatTensor> { let summary = "error function"; }
def HLO_ErfInvOp : HLO_SpecialFunctionOp<"erf_inv", HLO_FloatTensor> { let summary = "inverse error function"; }
def HLO_ErfcOp : HLO_SpecialFunctionOp<"erfc", HLO_FloatTensor> { let summary = "one minus the error function"; }
def HLO_IsInfOp : HLO_FloatClassOp<"is_inf"> { let summary = "whether a number is infinite"; }
def HLO_IsNegInfOp : HLO_FloatClassOp<"is_neg_inf"> { let summary = "whether a number is minus infinity"; }
def HLO_IsPosInfOp : HLO_FloatClassOp<"is_pos_inf"> { let summary = "whether a number is plus infinity"; }
def HLO_LgammaOp : HLO_SpecialFunctionOp<"lgamma", HLO_FloatTensor> {
  let summary = "logarithm of the absolute value of the gamma function";
}
def HLO_SinhOp : HLO_SpecialFunctionOp<"sinh", HLO_FloatOrComplexTensor> { let summary = "hyperbolic sine"; }
def HLO_SquareOp : HLO_SpecialFunctionOp<"square", HLO_FloatOrComplexTensor> { let summary = "x * x"; }

def HLO_MulhiOp : HLO_BinaryOp<"mulhi", HLO_IntTensor> {
  let summary = "upper half of the product of two integers";
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}
def HLO_NextAfterOp : HLO_BinaryOp<"next_after", HLO_FloatTensor> {
  let summary = "the float after x in the direction of y";
  let arguments = (ins HLO_FloatTensor:$x, HLO_FloatTensor:$y);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
}
def HLO_PolygammaOp : HLO_BinaryOp<"polygamma", HLO_FloatTensor> {
  let summary = "n-th derivative of the digamma function";
  let arguments = (ins HLO_FloatTensor:$n, HLO_FloatTensor:$x);
  let assemblyFormat = "$n `,` $x attr-dict `:` type($n) `,` type($x) `->` type($result)";
}
def HLO_ZetaOp : HLO_BinaryOp<"zeta", HLO_FloatTensor> {
  let summary = "Hurwitz zeta function";
  let arguments = (ins HLO_FloatTensor:$x, HLO_FloatTensor:$q);
  let assemblyFormat = "$x `,` $q attr-dict `:` type($x) `,` type($q) `->` type($result)";
}

#endif // HLO_OPS_MATH
