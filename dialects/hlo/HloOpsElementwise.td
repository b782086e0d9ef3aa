// Elementwise operations: one result element from the operand elements at the same index.
#ifndef HLO_OPS_ELEMENTWISE
#define HLO_OPS_ELEMENTWISE

include "HloElementwise.td"

// ---- Unary ----
def HLO_AbsOp : HLO_UnaryOpOwnResult<"abs", "C1, C2",
    HLO_TensorOf<[HLO_SInt, HLO_Float, HLO_Complex, HLO_Quantized]>,
    HLO_TensorOf<[HLO_SInt, HLO_Float, HLO_Quantized]>> {
  let summary = "absolute value; modulus of complex numbers";
}
def HLO_CbrtOp : HLO_TranscendentalOp<"cbrt"> { let summary = "cube root"; }
def HLO_CeilOp : HLO_UnaryOp<"ceil", HLO_FloatOrQuantizedTensor> { let summary = "rounding up to an integer"; }
def HLO_ClzOp : HLO_UnaryOp<"count_leading_zeros", HLO_IntTensor> { let summary = "number of leading zero bits"; }
def HLO_CosineOp : HLO_TranscendentalOp<"cosine"> { let summary = "cosine"; }
def HLO_ExpOp : HLO_TranscendentalOp<"exponential"> { let summary = "e to the power of the operand"; }
def HLO_Expm1Op : HLO_TranscendentalOp<"exponential_minus_one"> {
  let summary = "e to the power of the operand, minus one, accurate near zero";
}
def HLO_FloorOp : HLO_UnaryOp<"floor", HLO_FloatOrQuantizedTensor> { let summary = "rounding down to an integer"; }
def HLO_ImagOp : HLO_UnaryOpOwnResult<"imag", "C1, C2", HLO_FloatOrComplexTensor, HLO_FloatTensor> {
  let summary = "imaginary part; zero for floats";
}
def HLO_IsFiniteOp : HLO_InferOp<"is_finite", "C1", [Pure]> {
  let summary = "whether a number is neither infinite nor NaN";
  let description = [{
    Constraints:
    - (C1) x and y have the same shape.

    ```mlir
    %1 = hlo.is_finite %0 : (tensor<7xf64>) -> tensor<7xi1>
    ```
  }];
  let arguments = (ins HLO_FloatOrQuantizedTensor:$x);
  let results = (outs HLO_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def HLO_LogOp : HLO_TranscendentalOp<"log"> { let summary = "natural logarithm"; }
def HLO_Log1pOp : HLO_TranscendentalOp<"log_plus_one"> {
  let summary = "natural logarithm of one plus the operand, accurate near zero";
}
def HLO_LogisticOp : HLO_TranscendentalOp<"logistic"> { let summary = "1 / (1 + exp(-x))"; }
def HLO_NegOp : HLO_UnaryOp<"negate", HLO_NumberTensor> { let summary = "negation; integers wrap"; }
def HLO_NotOp : HLO_UnaryOp<"not", HLO_PredOrIntTensor> { let summary = "logical not of booleans, bitwise of integers"; }
def HLO_PopulationCountOp : HLO_UnaryOp<"popcnt", HLO_IntTensor> { let summary = "number of bits that are set"; }
def HLO_RealOp : HLO_UnaryOpOwnResult<"real", "C1, C2", HLO_FloatOrComplexTensor, HLO_FloatTensor> {
  let summary = "real part";
}
def HLO_RoundOp : HLO_UnaryOp<"round_nearest_afz", HLO_FloatOrQuantizedTensor> {
  let summary = "rounding to the nearest integer, ties away from zero";
}
def HLO_RoundNearestEvenOp : HLO_UnaryOp<"round_nearest_even", HLO_FloatOrQuantizedTensor> {
  let summary = "rounding to the nearest integer, ties to even";
}
def HLO_RsqrtOp : HLO_TranscendentalOp<"rsqrt"> { let summary = "reciprocal of the square root"; }
def HLO_SignOp : HLO_UnaryOp<"sign", HLO_TensorOf<[HLO_SInt, HLO_Float, HLO_Complex, HLO_Quantized]>> {
  let summary = "-1, 0, 1 or NaN; x / |x| for complex numbers";
}
def HLO_SineOp : HLO_TranscendentalOp<"sine"> { let summary = "sine"; }
def HLO_SqrtOp : HLO_TranscendentalOp<"sqrt"> { let summary = "square root"; }
def HLO_TanOp : HLO_TranscendentalOp<"tan"> { let summary = "tangent"; }
def HLO_TanhOp : HLO_TranscendentalOp<"tanh"> { let summary = "hyperbolic tangent"; }

// ---- Binary ----
def HLO_AddOp : HLO_BinaryOp<"add", HLO_AnyTensor, "C1"> {
  let summary = "sum; logical or of booleans";
  let description = [{
    Constraints:
    - (C1) operands and result have the same type.
    - (C2) all or none are quantized.
    - (C3) all store the same type.
    - (C4) all express the same type.
    - (C5) the result is quantized per axis if and only if an operand is.
    - (C6) the result is quantized along the dimension of lhs.
    - (C7) the result is quantized along the dimension of rhs.

    ```mlir
    %2 = hlo.add %0, %1 : tensor<2x2xi32>
    ```
  }];
  let hasVerifier = 1;
}
def HLO_AndOp : HLO_BinaryOp<"and", HLO_PredOrIntTensor> {
  let summary = "logical and of booleans, bitwise of integers";
}
def HLO_Atan2Op : HLO_BinaryOp<"atan2", HLO_FloatComplexOrQuantizedTensor> {
  let summary = "angle of the point (rhs, lhs)";
}
def HLO_ComplexOp : HLO_InferOp<"complex", "C2, C3", [Pure]> {
  let summary = "complex numbers from real and imaginary parts";
  let description = [{
    Constraints:
    - (C1) lhs and rhs have the same type.
    - (C2) the result has the shape of lhs.
    - (C3) the result's elements are complex numbers of lhs's.

    ```mlir
    %2 = hlo.complex %0, %1 : tensor<2xcomplex<f64>>
    ```
  }];
  let arguments = (ins HLO_Float32Or64Tensor:$lhs, HLO_Float32Or64Tensor:$rhs);
  let results = (outs HLO_ComplexTensor:$result);
  let assemblyFormat = "operands attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))";
}
def HLO_DivOp : HLO_BinaryOp<"divide", HLO_NumberTensor> {
  let summary = "quotient; of integers rounded to zero, all ones when divided by zero";
}
def HLO_MaxOp : HLO_BinaryOp<"maximum", HLO_Tensor> { let summary = "larger of two; NaN if either is"; }
def HLO_MinOp : HLO_BinaryOp<"minimum", HLO_Tensor> { let summary = "smaller of two; NaN if either is"; }
def HLO_MulOp : HLO_BinaryOp<"multiply", HLO_Tensor> { let summary = "product; logical and of booleans"; }
def HLO_OrOp : HLO_BinaryOp<"or", HLO_PredOrIntTensor> { let summary = "logical or of booleans, bitwise of integers"; }
def HLO_PowOp : HLO_BinaryOp<"power", HLO_NumberTensor> { let summary = "lhs to the power of rhs"; }
def HLO_RemOp : HLO_BinaryOp<"remainder", HLO_NumberTensor> {
  let summary = "remainder of division, with the sign of lhs";
}
def HLO_ShiftLeftOp : HLO_BinaryOp<"shift_left", HLO_IntTensor> {
  let summary = "left shift; zero when the amount is the width or more";
}
def HLO_ShiftRightArithmeticOp : HLO_BinaryOp<"shift_right_arithmetic", HLO_IntTensor> {
  let summary = "right shift that fills with the sign";
}
def HLO_ShiftRightLogicalOp : HLO_BinaryOp<"shift_right_logical", HLO_IntTensor> {
  let summary = "right shift that fills with zeros";
}
def HLO_SubtractOp : HLO_BinaryOp<"subtract", HLO_NumberTensor> { let summary = "difference"; }
def HLO_XorOp : HLO_BinaryOp<"xor", HLO_PredOrIntTensor> {
  let summary = "logical exclusive or of booleans, bitwise of integers";
}

// ---- Others ----
def HLO_ClampOp : HLO_InferOp<"clamp", "C4", [Pure]> {
  let summary = "minimum(maximum(operand, min), max); bounds may be scalars";
  let description = [{
    Constraints:
    - (C1) min is a scalar or has the shape of operand.
    - (C2) max is a scalar or has the shape of operand.
    - (C3) all have the same element type.
    - (C4) the result has the type of operand.

    ```mlir
    %3 = hlo.clamp %0, %1, %2 : tensor<4xf32>
    ```
  }];
  let arguments = (ins HLO_Tensor:$min, HLO_Tensor:$operand, HLO_Tensor:$max);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
      custom<ElementwiseTypes>(type($min), type($operand), type($max), type($result))
  }];
}

def HLO_CompareOp : HLO_InferOp<"compare", "C2", [Pure]> {
  let summary = "whether a relation holds";
  let description = [{
    Complex numbers compare by EQ and NE only. TOTALORDER orders NaN and signed zeros by their bits.

    Constraints:
    - (C1) lhs and rhs have the same element type.
    - (C2) lhs, rhs and result have the same shape.
    - (C3) compare_type, if given, is SIGNED for signed integers, UNSIGNED for unsigned integers and booleans, FLOAT
      or TOTALORDER for floats, FLOAT for complex numbers.

    ```mlir
    %2 = hlo.compare LT, %0, %1, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    ```
  }];
  let arguments = (ins HLO_Tensor:$lhs, HLO_Tensor:$rhs, HLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<HLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs HLO_PredTensor:$result);
  let assemblyFormat = [{
    `` $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_ConvertOp : HLO_Op<"convert", [Pure]> {
  let summary = "conversion to another element type";
  let description = [{
    Each element is converted: floats round to nearest even, floats to integers truncate, booleans are 0 and 1.

    Constraints:
    - (C1) operand and result have the same shape.

    ```mlir
    %1 = hlo.convert %0 : (tensor<3xi64>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins HLO_PlainTensor:$operand);
  let results = (outs HLO_PlainTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
  let hasVerifier = 1;
}

def HLO_ReducePrecisionOp : HLO_InferOp<"reduce_precision", "C1", [Pure]> {
  let summary = "rounding to a narrower float format and back";
  let description = [{
    Constraints:
    - (C1) operand and output have the same type.
    - (C2) exponent_bits is at least 1.
    - (C3) mantissa_bits is at least 0.

    ```mlir
    %1 = hlo.reduce_precision %0, format = e5m10 : tensor<6xf64>
    ```
  }];
  let arguments = (ins HLO_FloatOrQuantizedTensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs HLO_FloatOrQuantizedTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:`
      custom<ElementwiseTypes>(type($operand), type($output))
  }];
}

def HLO_SelectOp : HLO_InferOp<"select", "C2", [Pure]> {
  let summary = "on_true where pred holds, on_false elsewhere; pred may be a scalar";
  let description = [{
    Constraints:
    - (C1) pred is a scalar or has the shape of on_true.
    - (C2) on_true, on_false and result have the same type.

    ```mlir
    %3 = hlo.select %0, %1, %2 : tensor<2x2xi1>, tensor<2x2xi32>
    ```
  }];
  let arguments = (ins HLO_PredTensor:$pred, HLO_AnyTensor:$on_true, HLO_AnyTensor:$on_false);
  let results = (outs HLO_AnyTensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

#endif // HLO_OPS_ELEMENTWISE
