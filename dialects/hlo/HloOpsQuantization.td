// Conversion between floats and quantized integers.
#ifndef HLO_OPS_QUANTIZATION
#define HLO_OPS_QUANTIZATION

include "HloAttrs.td"

def HLO_UniformDequantizeOp : HLO_InferOp<"uniform_dequantize", "C1, C2", [Pure]> {
  let summary = "floats from quantized integers";
  let description = [{
    Constraints:
    - (C1) operand and result have the same shape.
    - (C2) the result has the type that operand expresses.

    ```mlir
    %1 = hlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins HLO_QuantizedTensor:$operand);
  let results = (outs HLO_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
}

def HLO_UniformQuantizeOp : HLO_Op<"uniform_quantize", [Pure]> {
  let summary = "quantized integers from floats, or from integers quantized otherwise";
  let description = [{
    Constraints:
    - (C1) operand and result have the same shape.
    - (C2) operand and result express the same type.

    ```mlir
    %1 = hlo.uniform_quantize %0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
    ```
  }];
  let arguments = (ins HLO_PerAxisTensorOf<[HLO_Float, HLO_Quantized, HLO_PerAxisQuantized]>:$operand);
  let results = (outs HLO_QuantizedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ElementwiseTypes>(type($operand), type($result))";
  let hasVerifier = 1;
}

#endif // HLO_OPS_QUANTIZATION
