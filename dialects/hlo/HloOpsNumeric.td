// Whole algorithms as operations: normalisation, linear algebra, Fourier transforms, random numbers.
#ifndef HLO_OPS_NUMERIC
#define HLO_OPS_NUMERIC

include "HloAttrs.td"

defvar HLO_Normalized = HLO_FloatOrQuantizedTensor;
defvar HLO_Feature = 1DTensorOf<[HLO_Float, HLO_Quantized]>;

def HLO_BatchNormGradOp : HLO_InferOp<"batch_norm_grad", "C2, C3", [Pure]> {
  let summary = "gradients of batch normalisation";
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$mean, HLO_Feature:$variance,
                       HLO_Normalized:$grad_output, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$grad_operand, HLO_Feature:$grad_scale, HLO_Feature:$grad_offset);
}
def HLO_BatchNormInferenceOp : HLO_InferOp<"batch_norm_inference", "C2, C7", [Pure]> {
  let summary = "normalisation with given mean and variance";
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$offset, HLO_Feature:$mean,
                       HLO_Feature:$variance, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$result);
}
def HLO_BatchNormTrainingOp : HLO_InferOp<"batch_norm_training", "C2, C5, C6, C7", [Pure]> {
  let summary = "normalisation with the mean and variance of the batch";
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$offset, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$output, HLO_Feature:$batch_mean, HLO_Feature:$batch_var);
}

def HLO_CholeskyOp : HLO_InferOp<"cholesky", "C1", [Pure]> {
  let summary = "Cholesky factor of each matrix of a batch";
  let arguments = (ins HLO_FloatComplexOrQuantizedTensor:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs HLO_FloatComplexOrQuantizedTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<ElementwiseTypes>(type($a), type($result))
  }];
}

def HLO_TriangularSolveOp : HLO_InferOp<"triangular_solve", "C5", [Pure]> {
  let summary = "solution of a system with a triangular matrix, for each of a batch";
  let arguments = (ins HLO_FloatOrComplexTensor:$a, HLO_FloatOrComplexTensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, HLO_TransposeAttr:$transpose_a);
  let results = (outs HLO_FloatOrComplexTensor:$result);
}

def HLO_FftOp : HLO_InferOp<"fft", "C4, C5", [Pure]> {
  let summary = "discrete Fourier transform of the trailing dimensions";
  let arguments = (ins HLO_FloatOrComplexTensor:$operand, HLO_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let results = (outs HLO_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
}

// A generator without explicit state: each execution draws other numbers, so the operation is not pure.
def HLO_RngOp : HLO_InferOp<"rng", "C3"> {
  let summary = "random numbers of a distribution";
  let arguments = (ins HLO_ScalarOf<[HLO_Pred, HLO_Int, HLO_Float]>:$a, HLO_ScalarOf<[HLO_Pred, HLO_Int, HLO_Float]>:$b,
                       HLO_ShapeTensor:$shape, HLO_RngDistributionAttr:$rng_distribution);
  let results = (outs HLO_PredIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_RngBitGeneratorOp : HLO_Op<"rng_bit_generator", [Pure]> {
  let summary = "random bits from a state, and the next state";
  let arguments = (ins HLO_RngAlgorithmAttr:$rng_algorithm, HLO_IntOrFloatTensor:$initial_state);
  let results = (outs HLO_IntOrFloatTensor:$output_state, HLO_IntOrFloatTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // HLO_OPS_NUMERIC
