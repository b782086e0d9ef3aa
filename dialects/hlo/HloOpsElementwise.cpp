#include "dialects/hlo/HloOpsElementwise.h"

#include "dialects/hlo/HloAssembly.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsElementwise.cpp.inc"

namespace hlo {

void HloDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsElementwise.cpp.inc"
      >();
}

// The type of a complex operand's parts; other operands' own.
static LogicalResult inferPart(Value operand, SmallVectorImpl<Type> &types) {
  RankedTensorType type = tensorType(operand);
  types.push_back(tensorLike(type, type.getShape(), partType(type.getElementType())));
  return success();
}

LogicalResult AbsOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPart(adaptor.getOperand(), types);
}

LogicalResult RealOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPart(adaptor.getOperand(), types);
}

LogicalResult ImagOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPart(adaptor.getOperand(), types);
}

LogicalResult IsFiniteOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferPredOfShape(check, adaptor.getOperands(), types);
}

LogicalResult ComplexOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  if (failed(check.compatible("C1", "lhs", adaptor.getLhs().getType(), "rhs", adaptor.getRhs().getType())))
    return failure();
  // C2, C3
  RankedTensorType parts = mergeTypes(tensorType(adaptor.getLhs()), tensorType(adaptor.getRhs()));
  if (!isFloat32Or64(parts.getElementType()))
    return check.fail("C3") << "parts must be f32 or f64, found " << parts.getElementType();
  types.push_back(tensorLike(parts, parts.getShape(), ComplexType::get(parts.getElementType())));
  return success();
}

LogicalResult AddOp::verify() {
  Checker check(*this);
  Type lhs = elementTypeOf(getLhs().getType()), rhs = elementTypeOf(getRhs().getType());
  Type result = elementTypeOf(getType());
  // C2; C3 and C4 by the compatibility of types
  if (isQuantized(lhs) != isQuantized(result) || isQuantized(rhs) != isQuantized(result))
    return check.fail("C2") << "all or none must be quantized, found " << lhs << ", " << rhs << " and " << result;
  // C5
  auto resultAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(result);
  const bool operandPerAxis =
      isa<quant::UniformQuantizedPerAxisType>(lhs) || isa<quant::UniformQuantizedPerAxisType>(rhs);
  if (operandPerAxis != static_cast<bool>(resultAxis))
    return check.fail("C5") << "the result must be quantized per axis if and only if an operand is, found " << lhs
                            << ", " << rhs << " and " << result;
  // C6, C7
  auto sameAxis = [&](StringRef constraint, StringRef name, Type operand) -> LogicalResult {
    auto operandAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(operand);
    if (operandAxis && operandAxis.getQuantizedDimension() != resultAxis.getQuantizedDimension())
      return check.fail(constraint) << name << " and result must be quantized along the same dimension, found "
                                    << operandAxis.getQuantizedDimension() << " and "
                                    << resultAxis.getQuantizedDimension();
    return success();
  };
  if (failed(sameAxis("C6", "lhs", lhs)))
    return failure();
  return sameAxis("C7", "rhs", rhs);
}

LogicalResult ClampOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  // C1, C2
  auto checkBound = [&](StringRef constraint, StringRef name, Value bound) -> LogicalResult {
    ArrayRef<int64_t> shape = tensorType(bound).getShape();
    if (!shape.empty() && !areShapesCompatible(shape, operand.getShape()))
      return check.fail(constraint) << name << " must be a scalar or have the operand's shape, found "
                                    << bound.getType() << " and " << operand;
    return success();
  };
  if (failed(checkBound("C1", "min", adaptor.getMin())) || failed(checkBound("C2", "max", adaptor.getMax())))
    return failure();
  // C3
  if (failed(check.sameElementType("C3", adaptor.getOperands())))
    return failure();
  // C4
  types.push_back(operand);
  return success();
}

LogicalResult CompareOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs()), rhs = tensorType(adaptor.getRhs());
  // C1
  if (failed(check.sameElementType("C1", adaptor.getOperands())))
    return failure();
  // C2
  if (!areShapesCompatible(lhs.getShape(), rhs.getShape()))
    return check.fail("C2") << "operands must have the same shape, found " << lhs << " and " << rhs;
  // C3
  Type element = expressedType(lhs.getElementType());
  if (std::optional<ComparisonType> type = adaptor.getCompareType(); type && *type != ComparisonType::NOTYPE) {
    const bool matches = isSignedInteger(element)                        ? *type == ComparisonType::SIGNED
                         : isUnsignedInteger(element) || isPred(element) ? *type == ComparisonType::UNSIGNED
                         : isFloat(element) ? *type == ComparisonType::FLOAT || *type == ComparisonType::TOTALORDER
                                            : *type == ComparisonType::FLOAT;
    if (!matches)
      return check.fail("C3") << "compare_type " << stringifyComparisonType(*type) << " does not suit elements of type "
                              << element;
  }
  RankedTensorType merged = mergeTypes(lhs, rhs);
  types.push_back(tensorLike(merged, merged.getShape(), IntegerType::get(lhs.getContext(), 1)));
  return success();
}

LogicalResult ConvertOp::verify() {
  // C1
  if (!areShapesCompatible(tensorType(getOperand()).getShape(), tensorType(getResult()).getShape()))
    return Checker(*this).fail("C1") << "operand and result must have the same shape, found " << getOperand().getType()
                                     << " and " << getType();
  return success();
}

LogicalResult ReducePrecisionOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  types.push_back(adaptor.getOperand().getType());
  // C2
  if (failed(check.atLeast("C2", "exponent_bits", {static_cast<int32_t>(adaptor.getExponentBits())}, 1)))
    return failure();
  // C3
  return check.atLeast("C3", "mantissa_bits", {static_cast<int32_t>(adaptor.getMantissaBits())}, 0);
}

LogicalResult SelectOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType pred = tensorType(adaptor.getPred());
  RankedTensorType onTrue = tensorType(adaptor.getOnTrue()), onFalse = tensorType(adaptor.getOnFalse());
  // C2
  if (failed(check.compatible("C2", "on_true", onTrue, "on_false", onFalse)))
    return failure();
  RankedTensorType merged = mergeTypes(onTrue, onFalse);
  // C1
  if (pred.getRank() != 0 && !areShapesCompatible(pred.getShape(), merged.getShape()))
    return check.fail("C1") << "pred must be a scalar or have the shape of on_true, found " << pred << " and "
                            << onTrue;
  types.push_back(merged);
  return success();
}

} // namespace hlo
