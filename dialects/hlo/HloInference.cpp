#include "dialects/hlo/HloInference.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hlo {

InFlightDiagnostic Checker::fail(StringRef constraint) const {
  if (!location)
    return InFlightDiagnostic();
  InFlightDiagnostic diagnostic = emitError(*location) << "'" << operation << "' op ";
  if (!constraint.empty())
    diagnostic << "[" << constraint << "] ";
  return diagnostic;
}

LogicalResult Checker::inRange(StringRef constraint, StringRef name, ArrayRef<int64_t> dimensions, int64_t rank) const {
  for (int64_t dimension : dimensions)
    if (dimension < 0 || dimension >= rank)
      return fail(constraint) << name << " must be in [0, " << rank << "), found " << dimension;
  return success();
}

LogicalResult Checker::unique(StringRef constraint, StringRef name, ArrayRef<int64_t> dimensions) const {
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t dimension : dimensions)
    if (!seen.insert(dimension).second)
      return fail(constraint) << name << " must be unique, found " << dimension << " twice";
  return success();
}

LogicalResult Checker::sorted(StringRef constraint, StringRef name, ArrayRef<int64_t> dimensions) const {
  if (!llvm::is_sorted(dimensions))
    return fail(constraint) << name << " must be sorted, found [" << dimensions << "]";
  return success();
}

LogicalResult Checker::size(StringRef constraint, StringRef name, int64_t found, int64_t expected) const {
  if (found != expected)
    return fail(constraint) << name << " must have " << expected << " element(s), found " << found;
  return success();
}

LogicalResult Checker::atLeast(StringRef constraint, StringRef name, ArrayRef<int64_t> numbers, int64_t least) const {
  for (int64_t number : numbers)
    if (number < least)
      return fail(constraint) << name << " must be at least " << least << ", found " << number;
  return success();
}

LogicalResult Checker::operandCount(ValueRange operands, unsigned least) const {
  if (operands.size() < least)
    return fail("") << "takes at least " << least << " operand(s), found " << operands.size();
  return success();
}

LogicalResult Checker::allTensors(ValueRange operands) const {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (!isa<RankedTensorType>(operand.getType()))
      return fail("") << "operand #" << index << " must be a ranked tensor, found " << operand.getType();
  return success();
}

LogicalResult Checker::sameElementType(StringRef constraint, ValueRange values, bool exactly) const {
  for (Value value : values.drop_front(values.empty() ? 0 : 1)) {
    Type first = elementTypeOf(values.front().getType()), other = elementTypeOf(value.getType());
    if (exactly ? first != other : !areElementsCompatible(first, other))
      return fail(constraint) << "element types must agree, found " << first << " and " << other;
  }
  return success();
}

LogicalResult Checker::compatible(StringRef constraint, StringRef firstName, Type first, StringRef secondName,
                                  Type second) const {
  if (!areCompatible(first, second))
    return fail(constraint) << firstName << " and " << secondName << " must have the same type, found " << first
                            << " and " << second;
  return success();
}

RankedTensorType mergeTypes(RankedTensorType a, RankedTensorType b) {
  SmallVector<int64_t> shape(a.getShape());
  for (auto [size, other] : llvm::zip(shape, b.getShape()))
    if (isDynamic(size))
      size = other;
  const bool sameEncoding = a.getEncoding() == b.getEncoding() && shape == a.getShape();
  return RankedTensorType::get(shape, a.getElementType(), sameEncoding ? a.getEncoding() : Attribute());
}

LogicalResult inferSameAsOperands(const Checker &check, ValueRange operands, SmallVectorImpl<Type> &types) {
  RankedTensorType result = tensorType(operands.front());
  for (Value operand : operands.drop_front()) {
    if (!areCompatible(tensorType(operands.front()), operand.getType()))
      return check.fail("C1") << "operands must have the same type, found " << operands.front().getType() << " and "
                              << operand.getType();
    result = mergeTypes(result, tensorType(operand));
  }
  types.push_back(result);
  return success();
}

LogicalResult inferPredOfShape(const Checker &check, ValueRange operands, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(operands.front());
  types.push_back(tensorLike(operand, operand.getShape(), IntegerType::get(operand.getContext(), 1)));
  return success();
}

std::optional<SmallVector<Type>> returnedTypes(Region *region) {
  if (!region || region->empty() || region->front().empty())
    return std::nullopt;
  Operation &terminator = region->front().back();
  if (!terminator.hasTrait<OpTrait::IsTerminator>())
    return std::nullopt;
  return SmallVector<Type>(terminator.getOperandTypes());
}

static RankedTensorType scalarOf(Type element) { return RankedTensorType::get({}, element); }

LogicalResult checkSignature(const Checker &check, StringRef constraint, StringRef name, Region &region,
                             TypeRange arguments, TypeRange results) {
  std::optional<SmallVector<Type>> returned = returnedTypes(&region);
  if (!returned)
    return success();
  if (region.getNumArguments() != arguments.size())
    return check.fail(constraint) << name << " must take " << arguments.size() << " argument(s), found "
                                  << region.getNumArguments();
  for (auto [index, argument, expected] : llvm::enumerate(region.getArgumentTypes(), arguments))
    if (!areCompatible(argument, expected))
      return check.fail(constraint) << "argument #" << index << " of " << name << " must have type " << expected
                                    << ", found " << argument;
  if (returned->size() != results.size())
    return check.fail(constraint) << name << " must return " << results.size() << " value(s), found "
                                  << returned->size();
  for (auto [index, found, expected] : llvm::enumerate(*returned, results))
    if (!areCompatible(found, expected))
      return check.fail(constraint) << "value #" << index << " that " << name << " returns must have type " << expected
                                    << ", found " << found;
  return success();
}

LogicalResult checkReducer(const Checker &check, StringRef constraint, Region &region, ArrayRef<Type> inputElements,
                           SmallVectorImpl<Type> &accumulated) {
  std::optional<SmallVector<Type>> returned = returnedTypes(&region);
  if (!returned) {
    accumulated.assign(inputElements.begin(), inputElements.end());
    return success();
  }
  if (returned->size() != inputElements.size())
    return check.fail(constraint) << "the computation must return " << inputElements.size() << " value(s), found "
                                  << returned->size();
  SmallVector<Type> arguments;
  for (auto [index, found, input] : llvm::enumerate(*returned, inputElements)) {
    Type element = elementTypeOf(found);
    if (!isa<RankedTensorType>(found) || !isPromotable(input, element))
      return check.fail(constraint) << "value #" << index << " that the computation returns must be a tensor whose "
                                    << "element type " << input << " widens to, found " << found;
    accumulated.push_back(element);
    arguments.push_back(scalarOf(element));
  }
  SmallVector<Type> results(arguments);
  llvm::append_range(arguments, results);
  return checkSignature(check, constraint, "the computation", region, arguments, results);
}

std::optional<int64_t> elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  if (llvm::is_contained(shape, 0))
    return llvm::any_of(shape, isDynamic) ? std::nullopt : std::optional<int64_t>(0);
  for (int64_t size : shape)
    if (isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

LogicalResult checkInferred(const Checker &check, StringRef constraints, bool keepsQuantization, TypeRange inferred,
                            TypeRange actual) {
  if (inferred.size() != actual.size())
    return check.fail(constraints) << "must have " << inferred.size() << " result(s), found " << actual.size();
  for (auto [index, expected, found] : llvm::enumerate(inferred, actual))
    if (!areCompatible(expected, found) || (keepsQuantization && elementTypeOf(expected) != elementTypeOf(found)))
      return check.fail(constraints) << "result #" << index << " must have type " << expected << ", found " << found;
  return success();
}

} // namespace hlo
