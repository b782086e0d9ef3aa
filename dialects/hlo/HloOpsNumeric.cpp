#include "dialects/hlo/HloOpsNumeric.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloIndexing.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsNumeric.cpp.inc"

namespace hlo {

void HloDialect::registerNumericOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsNumeric.cpp.inc"
      >();
}

// ---- Batch normalisation ----

// Checks one statistic or parameter: a vector with an element for each feature.
static LogicalResult checkFeatureVector(const Checker &check, StringRef constraint, StringRef name, Value vector,
                                        int64_t features) {
  RankedTensorType type = tensorType(vector);
  if (type.getRank() != 1 || !areSizesCompatible(type.getDimSize(0), features))
    return check.fail(constraint) << name << " must be a vector of " << features << " element(s), found " << type;
  return success();
}

// C1 and C2 of all three; gives the number of features.
static FailureOr<int64_t> checkNormalized(const Checker &check, ValueRange operands, uint64_t featureIndex) {
  RankedTensorType operand = tensorType(operands.front());
  const auto index = static_cast<int64_t>(featureIndex);
  if (failed(check.inRange("C1", "feature_index", {index}, operand.getRank())) ||
      failed(check.sameElementType("C2", operands)))
    return failure();
  return operand.getDimSize(index);
}

LogicalResult BatchNormGradOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> features = checkNormalized(check, adaptor.getOperands(), adaptor.getFeatureIndex());
  if (failed(features))
    return failure();
  RankedTensorType operand = tensorType(adaptor.getOperand()), gradient = tensorType(adaptor.getGradOutput());
  // C3
  if (!areShapesCompatible(operand.getShape(), gradient.getShape()))
    return check.fail("C3") << "operand and grad_output must have the same shape, found " << operand << " and "
                            << gradient;
  // C4, C5
  if (failed(checkFeatureVector(check, "C5", "scale", adaptor.getScale(), *features)) ||
      failed(checkFeatureVector(check, "C4", "mean", adaptor.getMean(), *features)) ||
      failed(checkFeatureVector(check, "C4", "variance", adaptor.getVariance(), *features)))
    return failure();
  types.push_back(mergeTypes(operand, gradient));
  types.append(2, RankedTensorType::get({*features}, operand.getElementType()));
  return success();
}

LogicalResult BatchNormInferenceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> features = checkNormalized(check, adaptor.getOperands(), adaptor.getFeatureIndex());
  // C3 to C6
  if (failed(features) || failed(checkFeatureVector(check, "C3", "scale", adaptor.getScale(), *features)) ||
      failed(checkFeatureVector(check, "C4", "offset", adaptor.getOffset(), *features)) ||
      failed(checkFeatureVector(check, "C5", "mean", adaptor.getMean(), *features)) ||
      failed(checkFeatureVector(check, "C6", "variance", adaptor.getVariance(), *features)))
    return failure();
  // C7
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult BatchNormTrainingOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> features = checkNormalized(check, adaptor.getOperands(), adaptor.getFeatureIndex());
  // C3, C4
  if (failed(features) || failed(checkFeatureVector(check, "C3", "scale", adaptor.getScale(), *features)) ||
      failed(checkFeatureVector(check, "C4", "offset", adaptor.getOffset(), *features)))
    return failure();
  // C5 to C7
  RankedTensorType operand = tensorType(adaptor.getOperand());
  types.push_back(operand);
  types.append(2, RankedTensorType::get({*features}, operand.getElementType()));
  return success();
}

// ---- Linear algebra ----

LogicalResult CholeskyOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType a = tensorType(adaptor.getA());
  // C2
  if (a.getRank() < 2)
    return check.fail("C2") << "a must have at least 2 dimensions, found " << a;
  // C3
  ArrayRef<int64_t> matrix = a.getShape().take_back(2);
  if (!areSizesCompatible(matrix[0], matrix[1]))
    return check.fail("C3") << "matrices must be square, found " << a;
  // C1
  types.push_back(a);
  return success();
}

LogicalResult TriangularSolveOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType a = tensorType(adaptor.getA()), b = tensorType(adaptor.getB());
  // C1
  if (failed(check.sameElementType("C1", adaptor.getOperands())))
    return failure();
  // C2
  if (a.getRank() < 2 || a.getRank() != b.getRank())
    return check.fail("C2") << "a and b must have the same rank, at least 2, found " << a << " and " << b;
  // C3
  ArrayRef<int64_t> left = a.getShape(), right = b.getShape();
  if (!areShapesCompatible(left.drop_back(2), right.drop_back(2)))
    return check.fail("C3") << "a and b must have the same batch dimensions, found " << a << " and " << b;
  const int64_t order = right.take_back(2)[adaptor.getLeftSide() ? 0 : 1];
  if (!areSizesCompatible(left.take_back(2)[0], left.back()) || !areSizesCompatible(left.back(), order))
    return check.fail("C3") << "a must be square, of the order of b's " << (adaptor.getLeftSide() ? "rows" : "columns")
                            << ", found " << a << " and " << b;
  // No number: the system must be one that exists.
  if (adaptor.getTransposeA() == Transpose::TRANSPOSE_INVALID)
    return check.fail("I6") << "transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT";
  // C4
  types.push_back(b);
  return success();
}

// ---- fft ----

LogicalResult FftOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> length = adaptor.getFftLength();
  const auto count = static_cast<int64_t>(length.size());
  // C3
  if (count < 1 || count > 3)
    return check.fail("C3") << "fft_length must have 1 to 3 elements, found " << count;
  // C1
  if (count > operand.getRank())
    return check.fail("C1") << "fft_length must have at most " << operand.getRank() << " element(s), found " << count;
  if (failed(check.atLeast("I3", "fft_length", length, 0)))
    return failure();
  // C2
  const FftType kind = adaptor.getFftType();
  Type element = operand.getElementType();
  const bool wantsFloat = kind == FftType::RFFT;
  if (wantsFloat ? !isFloat32Or64(element) : !isComplex(element))
    return check.fail("C2") << stringifyFftType(kind) << " takes " << (wantsFloat ? "f32 or f64" : "complex numbers")
                            << ", found " << element;
  // C4, C5
  SmallVector<int64_t> shape(operand.getShape());
  MutableArrayRef<int64_t> tail = MutableArrayRef<int64_t>(shape).take_back(count);
  auto half = [](int64_t size) { return isDynamic(size) || size == 0 ? size : size / 2 + 1; };
  auto mismatch = [&](ArrayRef<int64_t> expected) -> LogicalResult {
    return check.fail("C4") << "the last dimensions of operand must have sizes [" << expected << "], found " << operand;
  };
  if (kind == FftType::RFFT) {
    if (!areShapesCompatible(tail, length))
      return mismatch(length);
    tail.back() = half(tail.back());
  } else if (kind == FftType::IRFFT) {
    SmallVector<int64_t> expected(length);
    expected.back() = half(expected.back());
    if (!areShapesCompatible(tail, expected))
      return mismatch(expected);
    tail.back() = length.back();
  } else if (!areShapesCompatible(tail, length)) {
    return mismatch(length);
  }
  Type result = kind == FftType::RFFT    ? Type(ComplexType::get(element))
                : kind == FftType::IRFFT ? partType(element)
                                         : element;
  types.push_back(RankedTensorType::get(shape, result));
  return success();
}

// ---- Random numbers ----

LogicalResult RngOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  if (failed(check.sameElementType("C1", ValueRange{adaptor.getA(), adaptor.getB()})))
    return failure();
  // C2
  Type element = tensorType(adaptor.getA()).getElementType();
  if (adaptor.getRngDistribution() == RngDistribution::NORMAL && !isFloat(element))
    return check.fail("C2") << "a normal distribution is of floats, found " << element;
  // C3
  RankedTensorType shapeType = tensorType(adaptor.getShape());
  if (shapeType.getRank() != 1 || !shapeType.hasStaticShape())
    return check.fail("C3") << "shape must be a static vector, found " << shapeType;
  SmallVector<int64_t> shape(shapeType.getDimSize(0), ShapedType::kDynamic);
  if (std::optional<SmallVector<int64_t>> constant = constantShape(adaptor.getShape())) {
    if (failed(check.atLeast("C3", "shape", *constant, 0)))
      return failure();
    shape = *constant;
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult RngBitGeneratorOp::verify() {
  Checker check(*this);
  RankedTensorType state = tensorType(getInitialState());
  // C1
  if (failed(check.compatible("C1", "initial_state", state, "output_state", getOutputState().getType())))
    return failure();
  // C2
  if (getRngAlgorithm() == RngAlgorithm::DEFAULT)
    return success();
  const bool philox = getRngAlgorithm() == RngAlgorithm::PHILOX;
  std::optional<int64_t> words = elementCount(state.getShape());
  // A key may come as twice as many words of 32 bits.
  if (words && isInteger(state.getElementType()) && bitWidthOf(state.getElementType()) == 32)
    words = *words % 2 == 0 ? *words / 2 : -1;
  if (words && *words != 2 && !(philox && *words == 3))
    return check.fail("C2") << stringifyRngAlgorithm(getRngAlgorithm()) << " has a state of 2"
                            << (philox ? " or 3" : "") << " 64-bit words, found " << state;
  if (!tensorType(getOutput()).hasStaticShape())
    return check.fail("") << "output must have a static shape, found " << getOutput().getType();
  return success();
}

} // namespace hlo
