#include "dialects/hlo/HloTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/hlo/HloTypes.cpp.inc"

using namespace mlir;

namespace hlo {

void HloDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/hlo/HloTypes.cpp.inc"
      >();
}

static bool isWidth(unsigned width) {
  return width == 2 || width == 4 || width == 8 || width == 16 || width == 32 || width == 64;
}

bool isPred(Type type) { return type.isSignlessInteger(1); }

bool isSignedInteger(Type type) { return type.isSignlessInteger() && isWidth(type.getIntOrFloatBitWidth()); }

bool isUnsignedInteger(Type type) { return type.isUnsignedInteger() && isWidth(type.getIntOrFloatBitWidth()); }

bool isInteger(Type type) { return isSignedInteger(type) || isUnsignedInteger(type); }

bool isFloat(Type type) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType, Float8E3M4Type, Float8E4M3Type, Float8E4M3FNType,
             Float8E4M3FNUZType, Float8E4M3B11FNUZType, Float8E5M2Type, Float8E5M2FNUZType, Float8E8M0FNUType,
             Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

bool isFloat32Or64(Type type) { return isa<Float32Type, Float64Type>(type); }

bool isComplex(Type type) {
  auto complex = dyn_cast<ComplexType>(type);
  return complex && isFloat32Or64(complex.getElementType());
}

// The specification bounds zero points by the storage type and scales by the expressed type.
static bool isValidQuantized(quant::QuantizedType type, ArrayRef<int64_t> zeroPoints, ArrayRef<double> scales) {
  if (!isWidth(type.getStorageTypeIntegralWidth()) || type.getStorageTypeIntegralWidth() > 32)
    return false;
  if (!type.getStorageType().isSignlessInteger() || !isFloat(type.getExpressedType()))
    return false;
  const int64_t least = type.getStorageTypeMin(), most = type.getStorageTypeMax();
  for (int64_t zeroPoint : zeroPoints)
    if (zeroPoint < least || zeroPoint > most)
      return false;
  const llvm::fltSemantics &semantics = cast<FloatType>(type.getExpressedType()).getFloatSemantics();
  const APFloat smallest = APFloat::getSmallest(semantics), largest = APFloat::getLargest(semantics);
  for (double scale : scales) {
    APFloat converted(scale);
    bool inexact = false;
    converted.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
    if (!converted.isFiniteNonZero() || converted.isNegative() || converted < smallest || converted > largest)
      return false;
  }
  return true;
}

bool isQuantizedPerTensor(Type type) {
  auto quantized = dyn_cast<quant::UniformQuantizedType>(type);
  return quantized && isValidQuantized(quantized, {quantized.getZeroPoint()}, {quantized.getScale()});
}

bool isQuantizedPerAxis(Type type) {
  auto quantized = dyn_cast<quant::UniformQuantizedPerAxisType>(type);
  return quantized && isValidQuantized(quantized, quantized.getZeroPoints(), quantized.getScales());
}

bool isQuantized(Type type) { return isa<quant::QuantizedType>(type); }

bool isDimensionValue(Type type) { return isInteger(type) || type.isIndex(); }

bool hasValidQuantizedDimension(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  auto quantized = dyn_cast<quant::UniformQuantizedPerAxisType>(tensor.getElementType());
  if (!quantized)
    return true;
  const int64_t dimension = quantized.getQuantizedDimension();
  if (dimension < 0 || dimension >= tensor.getRank())
    return false;
  return areSizesCompatible(tensor.getDimSize(dimension), static_cast<int64_t>(quantized.getScales().size()));
}

bool isStaticOrBounded(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.hasStaticShape())
    return true;
  auto bounds = dyn_cast_if_present<BoundsAttr>(tensor.getEncoding());
  if (!bounds || tensor.getNumDynamicDims() != 1)
    return false;
  return llvm::count_if(bounds.getBounds(), [](int64_t bound) { return !isDynamic(bound); }) == 1;
}

Type elementTypeOf(Type type) { return getElementTypeOrSelf(type); }

Type expressedType(Type type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type);
  return quantized ? quantized.getExpressedType() : type;
}

Type partType(Type type) {
  auto complex = dyn_cast<ComplexType>(type);
  return complex ? complex.getElementType() : type;
}

int64_t bitWidthOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bitWidthOf(complex.getElementType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(type))
    return quantized.getStorageTypeIntegralWidth();
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

bool areSizesCompatible(int64_t a, int64_t b) { return isDynamic(a) || isDynamic(b) || a == b; }

bool areShapesCompatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return false;
  for (auto [first, second] : llvm::zip_equal(a, b))
    if (!areSizesCompatible(first, second))
      return false;
  return true;
}

bool areElementsCompatible(Type a, Type b) {
  if (a == b)
    return true;
  auto first = dyn_cast<quant::QuantizedType>(a), second = dyn_cast<quant::QuantizedType>(b);
  return first && second && first.getExpressedType() == second.getExpressedType() &&
         first.getStorageType() == second.getStorageType() && first.isSigned() == second.isSigned();
}

bool areCompatible(Type a, Type b) {
  if (a == b)
    return true;
  if (auto first = dyn_cast<RankedTensorType>(a)) {
    auto second = dyn_cast<RankedTensorType>(b);
    return second && areShapesCompatible(first.getShape(), second.getShape()) &&
           areElementsCompatible(first.getElementType(), second.getElementType());
  }
  if (auto first = dyn_cast<TupleType>(a)) {
    auto second = dyn_cast<TupleType>(b);
    return second && areCompatible(TypeRange(first.getTypes()), TypeRange(second.getTypes()));
  }
  if (auto first = dyn_cast<FutureType>(a)) {
    auto second = dyn_cast<FutureType>(b);
    return second && areCompatible(TypeRange(first.getTypes()), TypeRange(second.getTypes()));
  }
  return false;
}

bool areCompatible(TypeRange a, TypeRange b) {
  if (a.size() != b.size())
    return false;
  for (auto [first, second] : llvm::zip_equal(a, b))
    if (!areCompatible(first, second))
      return false;
  return true;
}

bool isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  if (isInteger(from))
    return isInteger(to) && from.isUnsignedInteger() == to.isUnsignedInteger() && bitWidthOf(from) <= bitWidthOf(to);
  if (isFloat(from))
    return isFloat(to) && bitWidthOf(from) <= bitWidthOf(to);
  if (isComplex(from))
    return isComplex(to) && bitWidthOf(from) <= bitWidthOf(to);
  auto first = dyn_cast<quant::QuantizedType>(from), second = dyn_cast<quant::QuantizedType>(to);
  if (first && second)
    return first.getExpressedType() == second.getExpressedType() && bitWidthOf(from) <= bitWidthOf(to);
  return false;
}

RankedTensorType tensorLike(RankedTensorType like, ArrayRef<int64_t> shape, Type element) {
  Attribute encoding = like.getEncoding();
  if (encoding && shape != like.getShape())
    encoding = {};
  return RankedTensorType::get(shape, element, encoding);
}

} // namespace hlo
