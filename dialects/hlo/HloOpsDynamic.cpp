#include "dialects/hlo/HloOpsDynamic.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloIndexing.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsDynamic.cpp.inc"

namespace hlo {

void HloDialect::registerDynamicOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsDynamic.cpp.inc"
      >();
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  // C7
  const int64_t sizes = tensorType(getOutputDimensions()).getDimSize(0);
  if (sizes != result.getRank())
    return check.fail("C7") << "output_dimensions must have " << result.getRank() << " element(s), found " << sizes;
  if (failed(checkShapeOperand(check, "C7", "output_dimensions", getOutputDimensions(), result)))
    return failure();
  // C1 to C6, of the shape as far as it is known
  if (std::optional<SmallVector<int64_t>> shape = constantShape(getOutputDimensions()))
    result = RankedTensorType::get(*shape, result.getElementType());
  if (failed(checkBroadcast(check, operand, result, getBroadcastDimensions())))
    return failure();
  // C8
  SmallVector<int64_t> known;
  if (std::optional<ArrayRef<int64_t>> dims = getKnownExpandingDimensions())
    known.append(dims->begin(), dims->end());
  if (std::optional<ArrayRef<int64_t>> dims = getKnownNonexpandingDimensions())
    known.append(dims->begin(), dims->end());
  if (failed(check.unique("C8", "known_expanding_dimensions and known_nonexpanding_dimensions", known)))
    return failure();
  // C9
  if (failed(check.inRange("C9", "known_expanding_dimensions",
                           getKnownExpandingDimensions().value_or(ArrayRef<int64_t>()), operand.getRank())))
    return failure();
  // C10
  return check.inRange("C10", "known_nonexpanding_dimensions",
                       getKnownNonexpandingDimensions().value_or(ArrayRef<int64_t>()), operand.getRank());
}

LogicalResult DynamicGatherOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  RankedTensorType sizes = tensorType(adaptor.getSliceSizes());
  // C11
  if (sizes.getRank() != 1 || failed(check.size("C11", "slice_sizes", sizes.getDimSize(0), operand.getRank())))
    return failure();
  SmallVector<int64_t> sliceSizes(operand.getRank(), ShapedType::kDynamic);
  if (std::optional<SmallVector<int64_t>> constant = constantShape(adaptor.getSliceSizes()))
    sliceSizes = *constant;
  return inferGather(check, dynamicGatherConstraints, operand, tensorType(adaptor.getStartIndices()),
                     adaptor.getDimensionNumbers(), sliceSizes, types);
}

LogicalResult DynamicIotaOp::verify() {
  Checker check(*this);
  const int64_t rank = tensorType(getResult()).getRank();
  const int64_t sizes = tensorType(getOutputShape()).getDimSize(0);
  // C1
  if (failed(check.inRange("C1", "iota_dimension", {static_cast<int64_t>(getIotaDimension())}, sizes)))
    return failure();
  // C2
  if (sizes != rank)
    return check.fail("C2") << "output_shape must have " << rank << " element(s), found " << sizes;
  return checkShapeOperand(check, "C2", "output_shape", getOutputShape(), tensorType(getResult()));
}

LogicalResult DynamicPadOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  // C1
  if (failed(check.sameElementType("C1", ValueRange{getOperand(), getPaddingValue(), getResult()})))
    return failure();
  // C2
  for (Value amounts : {Value(getEdgePaddingLow()), Value(getEdgePaddingHigh()), Value(getInteriorPadding())})
    if (tensorType(amounts).getDimSize(0) != operand.getRank())
      return check.fail("C2") << "padding amounts must have " << operand.getRank() << " element(s), found "
                              << tensorType(amounts).getDimSize(0);
  // C3
  std::optional<SmallVector<int64_t>> low = constantShape(getEdgePaddingLow()),
                                      high = constantShape(getEdgePaddingHigh());
  std::optional<SmallVector<int64_t>> interior = constantShape(getInteriorPadding());
  if (interior && failed(check.atLeast("C3", "interior_padding", *interior, 0)))
    return failure();
  // C4
  if (operand.getRank() != result.getRank())
    return check.fail("C4") << "operand and result must have the same rank, found " << operand << " and " << result;
  if (!low || !high || !interior)
    return success();
  FailureOr<SmallVector<int64_t>> shape = paddedShape(check, "C4", operand.getShape(), *low, *high, *interior);
  if (failed(shape))
    return failure();
  if (!areShapesCompatible(*shape, result.getShape()))
    return check.fail("C4") << "result must have shape [" << *shape << "], found " << result;
  return success();
}

LogicalResult DynamicReshapeOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  // C1 to C3
  if (failed(checkReshape(check, operand, result)))
    return failure();
  // C4
  const int64_t sizes = tensorType(getOutputShape()).getDimSize(0);
  if (sizes != result.getRank())
    return check.fail("C4") << "output_shape must have " << result.getRank() << " element(s), found " << sizes;
  if (failed(checkShapeOperand(check, "C4", "output_shape", getOutputShape(), result)))
    return failure();
  std::optional<SmallVector<int64_t>> shape = constantShape(getOutputShape());
  std::optional<int64_t> from = elementCount(operand.getShape());
  std::optional<int64_t> to = shape ? elementCount(*shape) : std::nullopt;
  if (from && to && *from != *to)
    return check.fail("C2") << "operand and output_shape must have as many elements, found " << *from << " and " << *to;
  return success();
}

LogicalResult RealDynamicSliceOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  if (operand.getElementType() != result.getElementType())
    return check.fail("") << "operand and result must have the same element type, found " << operand << " and "
                          << result;
  if (operand.getRank() != result.getRank())
    return check.fail("") << "operand and result must have the same rank, found " << operand << " and " << result;
  for (Value indices : {Value(getStartIndices()), Value(getLimitIndices()), Value(getStrides())})
    if (!areSizesCompatible(tensorType(indices).getDimSize(0), operand.getRank()))
      return check.fail("") << "start_indices, limit_indices and strides must have " << operand.getRank()
                            << " element(s), found " << tensorType(indices).getDimSize(0);
  return success();
}

LogicalResult GetDimensionSizeOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  if (failed(check.inRange("C1", "dimension", {static_cast<int64_t>(adaptor.getDimension())},
                           tensorType(adaptor.getOperand()).getRank())))
    return failure();
  types.push_back(RankedTensorType::get({}, IntegerType::get(adaptor.getOperand().getContext(), 32)));
  return success();
}

LogicalResult SetDimensionSizeOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  const auto dimension = static_cast<int64_t>(adaptor.getDimension());
  if (failed(check.inRange("", "dimension", {dimension}, operand.getRank())))
    return failure();
  // The old size bounds the new one.
  SmallVector<int64_t> shape(operand.getShape());
  SmallVector<int64_t> bounds(operand.getRank(), ShapedType::kDynamic);
  if (auto given = dyn_cast_if_present<BoundsAttr>(operand.getEncoding()))
    bounds.assign(given.getBounds().begin(), given.getBounds().end());
  if (!isDynamic(shape[dimension]))
    bounds[dimension] = shape[dimension];
  shape[dimension] = ShapedType::kDynamic;
  Attribute encoding = llvm::all_of(bounds, isDynamic) ? Attribute() : BoundsAttr::get(operand.getContext(), bounds);
  types.push_back(RankedTensorType::get(shape, operand.getElementType(), encoding));
  return success();
}

} // namespace hlo
