// What the dialect asks of types, and how types combine.
#ifndef DIALECTS_HLO_HLOTYPES_H
#define DIALECTS_HLO_HLOTYPES_H

#include "dialects/hlo/HloDialect.h"

namespace hlo {

// ---- Element types (predicates of HloTypes.td) ----
bool isPred(mlir::Type type);
bool isSignedInteger(mlir::Type type);
bool isUnsignedInteger(mlir::Type type);
bool isInteger(mlir::Type type);
bool isFloat(mlir::Type type);
bool isFloat32Or64(mlir::Type type);
bool isComplex(mlir::Type type);
bool isQuantizedPerTensor(mlir::Type type);
bool isQuantizedPerAxis(mlir::Type type);
bool isQuantized(mlir::Type type);
bool isDimensionValue(mlir::Type type);

// Whether the quantized dimension of a per-axis quantized tensor exists and has as many elements as there are scales.
bool hasValidQuantizedDimension(mlir::Type type);

// Whether a tensor's shape is static but for at most one dimension, whose bound the encoding gives.
bool isStaticOrBounded(mlir::Type type);

// The element type of a tensor, the type itself otherwise.
mlir::Type elementTypeOf(mlir::Type type);
// What a quantized type stands for; other types as they are.
mlir::Type expressedType(mlir::Type type);
// The element type of a complex number's parts; other types as they are.
mlir::Type partType(mlir::Type type);
// Bits of an element; complex counts both parts. 0 for a type without a width.
int64_t bitWidthOf(mlir::Type type);

// ---- Shapes and whole types ----
inline bool isDynamic(int64_t size) { return mlir::ShapedType::isDynamic(size); }
// Sizes are equal, or one is not known.
bool areSizesCompatible(int64_t a, int64_t b);
bool areShapesCompatible(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
// The same element type; quantized types agree when what they stand for and what they store agree.
bool areElementsCompatible(mlir::Type a, mlir::Type b);
// Types that may meet at run time: sizes that are not known agree with any, encodings are not compared.
bool areCompatible(mlir::Type a, mlir::Type b);
bool areCompatible(mlir::TypeRange a, mlir::TypeRange b);
// Whether a value of `from` may be widened to `to` without loss, as reductions widen their accumulator.
bool isPromotable(mlir::Type from, mlir::Type to);
// The encoding of `like` when it still describes a tensor of this shape, nothing otherwise.
mlir::RankedTensorType tensorLike(mlir::RankedTensorType like, llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace hlo

#endif // DIALECTS_HLO_HLOTYPES_H
