// Whole algorithms as operations: normalisation, linear algebra, Fourier transforms, random numbers.
#ifndef HLO_OPS_NUMERIC
#define HLO_OPS_NUMERIC

include "HloAttrs.td"

defvar HLO_Normalized = HLO_FloatOrQuantizedTensor;
defvar HLO_Feature = 1DTensorOf<[HLO_Float, HLO_Quantized]>;

def HLO_BatchNormGradOp : HLO_InferOp<"batch_norm_grad", "C2, C3", [Pure]> {
  let summary = "gradients of batch normalisation";
  let description = [{
    Constraints:
    - (C1) feature_index is a dimension of operand.
    - (C2) all have the same element type.
    - (C3) operand, grad_output and grad_operand have the same shape.
    - (C4) scale, mean, variance, grad_scale and grad_offset have the same shape.
    - (C5) scale has an element for each feature.
  }];
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$mean, HLO_Feature:$variance,
                       HLO_Normalized:$grad_output, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$grad_operand, HLO_Feature:$grad_scale, HLO_Feature:$grad_offset);
}
def HLO_BatchNormInferenceOp : HLO_InferOp<"batch_norm_inference", "C2, C7", [Pure]> {
  let summary = "normalisation with given mean and variance";
  let description = [{
    Constraints:
    - (C1) feature_index is a dimension of operand.
    - (C2) all have the same element type.
    - (C3) scale has an element for each feature.
    - (C4) offset has an element for each feature.
    - (C5) mean has an element for each feature.
    - (C6) variance has an element for each feature.
    - (C7) the result has the type of operand.
  }];
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$offset, HLO_Feature:$mean,
                       HLO_Feature:$variance, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$result);
}
def HLO_BatchNormTrainingOp : HLO_InferOp<"batch_norm_training", "C2, C5, C6, C7", [Pure]> {
  let summary = "normalisation with the mean and variance of the batch";
  let description = [{
    Constraints:
    - (C1) feature_index is a dimension of operand.
    - (C2) all have the same element type.
    - (C3) scale has an element for each feature.
    - (C4) offset has an element for each feature.
    - (C5) batch_mean has an element for each feature.
    - (C6) batch_var has an element for each feature.
    - (C7) output has the type of operand.
  }];
  let arguments = (ins HLO_Normalized:$operand, HLO_Feature:$scale, HLO_Feature:$offset, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs HLO_Normalized:$output, HLO_Feature:$batch_mean, HLO_Feature:$batch_var);
}

def HLO_CholeskyOp : HLO_InferOp<"cholesky", "C1", [Pure]> {
  let summary = "Cholesky factor of each matrix of a batch";
  let description = [{
    Only the triangle that `lower` names is read and written; the other is left unspecified.

    Constraints:
    - (C1) a and result have the same type.
    - (C2) a has at least two dimensions.
    - (C3) the matrices of a are square.

    ```mlir
    %1 = hlo.cholesky %0, lower = true : tensor<3x3xf32>
    ```
  }];
  let arguments = (ins HLO_FloatComplexOrQuantizedTensor:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs HLO_FloatComplexOrQuantizedTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<ElementwiseTypes>(type($a), type($result))
  }];
}

def HLO_TriangularSolveOp : HLO_InferOp<"triangular_solve", "C4", [Pure]> {
  let summary = "solution of a system with a triangular matrix, for each of a batch";
  let description = [{
    Solves `op(a) * x = b`, or `x * op(a) = b` when not `left_side`.

    Constraints:
    - (C1) a and b have the same element type.
    - (C2) a and b have the same rank, at least 2.
    - (C3) a and b have the same batch dimensions, and a is square of the order of b.
    - (C4) the result has the type of b.
  }];
  let arguments = (ins HLO_FloatOrComplexTensor:$a, HLO_FloatOrComplexTensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, HLO_TransposeAttr:$transpose_a);
  let results = (outs HLO_FloatOrComplexTensor:$result);
}

def HLO_FftOp : HLO_InferOp<"fft", "C4, C5", [Pure]> {
  let summary = "discrete Fourier transform of the trailing dimensions";
  let description = [{
    Constraints:
    - (C1) fft_length has at most as many elements as operand has dimensions.
    - (C2) FFT and IFFT map complex to complex, RFFT float to complex, IRFFT complex to float.
    - (C3) fft_length has 1 to 3 elements.
    - (C4) the real side ends in fft_length.
    - (C5) the complex side of RFFT and IRFFT has `n / 2 + 1` in the last dimension.

    ```mlir
    %1 = hlo.fft %0, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
    ```
  }];
  let arguments = (ins HLO_FloatOrComplexTensor:$operand, HLO_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let results = (outs HLO_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` `` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
}

// A generator without explicit state: each execution draws other numbers, so the operation is not pure.
def HLO_RngOp : HLO_InferOp<"rng", "C3"> {
  let summary = "random numbers of a distribution";
  let description = [{
    UNIFORM draws from [a, b), NORMAL with mean a and standard deviation b.

    Constraints:
    - (C1) a, b and result have the same element type.
    - (C2) NORMAL is of floats.
    - (C3) the result has the shape that shape holds.

    ```mlir
    %3 = hlo.rng %0, %1, %2, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
    ```
  }];
  let arguments = (ins HLO_ScalarOf<[HLO_Pred, HLO_Int, HLO_Float]>:$a, HLO_ScalarOf<[HLO_Pred, HLO_Int, HLO_Float]>:$b,
                       HLO_ShapeTensor:$shape, HLO_RngDistributionAttr:$rng_distribution);
  let results = (outs HLO_PredIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` `` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
}

def HLO_RngBitGeneratorOp : HLO_Op<"rng_bit_generator", [Pure]> {
  let summary = "random bits from a state, and the next state";
  let description = [{
    Constraints:
    - (C1) initial_state and output_state have the same type.
    - (C2) THREE_FRY has a state of 2 words of 64 bits, PHILOX of 2 or 3.

    ```mlir
    %state, %bits = hlo.rng_bit_generator %0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    ```
  }];
  let arguments = (ins HLO_RngAlgorithmAttr:$rng_algorithm, HLO_IntOrFloatTensor:$initial_state);
  let results = (outs HLO_IntOrFloatTensor:$output_state, HLO_IntOrFloatTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` `` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // HLO_OPS_NUMERIC
