#include "dialects/hlo/HloOpsDataMovement.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloIndexing.h"
#include "dialects/hlo/HloOpsControlFlow.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsDataMovement.cpp.inc"

namespace hlo {

void HloDialect::registerDataMovementOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsDataMovement.cpp.inc"
      >();
}

// ---- constant ----

LogicalResult ConstantOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1, also that of a quantized constant, whose value holds what is stored
  types.push_back(adaptor.getValue().getType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto integers = dyn_cast<DenseIntElementsAttr>(getValue());
  if (!integers || !integers.isSplat() || !isa<IntegerType>(integers.getElementType())) {
    setName(getOutput(), "cst");
    return;
  }
  const bool isUnsigned = integers.getElementType().isUnsignedInteger() || isPred(integers.getElementType());
  SmallString<16> digits;
  integers.getSplatValue<APInt>().toString(digits, /*Radix=*/10, /*Signed=*/!isUnsigned);
  // "%c_n5" is -5.
  llvm::replace(digits, '-', 'n');
  setName(getOutput(), ("c_" + digits).str());
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ';
  printer.printAttribute(getValue());
  if (getType() != getValue().getType())
    printer << " : " << getType();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseAttribute(value, "value", state.attributes))
    return failure();
  Type type = value.getType();
  if (succeeded(parser.parseOptionalColon()) && parser.parseType(type))
    return failure();
  state.addTypes(type);
  return success();
}

// ---- iota, bitcast_convert, copy ----

LogicalResult IotaOp::verify() {
  Checker check(*this);
  RankedTensorType type = tensorType(getOutput());
  if (!type.hasStaticShape())
    return check.fail("") << "must have a static shape, found " << type;
  // C1
  return check.inRange("C1", "iota_dimension", {static_cast<int64_t>(getIotaDimension())}, type.getRank());
}

LogicalResult BitcastConvertOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  // C2
  if (isComplex(operand.getElementType()) != isComplex(result.getElementType()))
    return check.fail("C2") << "operand and result must both be complex, or neither, found " << operand << " and "
                            << result;
  // C1
  const int64_t from = bitWidthOf(operand.getElementType()), to = bitWidthOf(result.getElementType());
  ArrayRef<int64_t> longer = operand.getShape(), shorter = result.getShape();
  if (from > to)
    std::swap(longer, shorter);
  if (from == to) {
    if (!areShapesCompatible(longer, shorter))
      return check.fail("C1") << "elements of the same width need the same shape, found " << operand << " and "
                              << result;
    return success();
  }
  const int64_t wide = std::max(from, to), narrow = std::min(from, to);
  const bool fits = longer.size() == shorter.size() + 1 && areShapesCompatible(longer.drop_back(), shorter) &&
                    (isDynamic(longer.back()) || llvm::checkedMul(longer.back(), narrow).value_or(-1) == wide);
  if (!fits)
    return check.fail("C1") << "the side with narrower elements must have a trailing dimension that makes up for their "
                            << "width, found " << operand << " and " << result;
  return success();
}

LogicalResult CopyOp::verify() {
  return Checker(*this).compatible("", "operand", getOperand().getType(), "result", getType());
}

// ---- broadcast, broadcast_in_dim, reshape ----

LogicalResult BroadcastOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  if (failed(check.atLeast("", "broadcast_sizes", adaptor.getBroadcastSizes(), 0)))
    return failure();
  SmallVector<int64_t> shape(adaptor.getBroadcastSizes());
  llvm::append_range(shape, operand.getShape());
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  // C1 to C6
  return checkBroadcast(Checker(*this), tensorType(getOperand()), tensorType(getResult()), getBroadcastDimensions());
}

LogicalResult ReshapeOp::verify() {
  // C1 to C3
  return checkReshape(Checker(*this), tensorType(getOperand()), tensorType(getResult()));
}

// ---- concatenate ----

LogicalResult ConcatenateOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  // C3
  if (inputs.empty())
    return check.fail("C3") << "takes at least one input";
  // C1
  if (failed(check.sameElementType("C1", inputs, /*exactly=*/true)))
    return failure();
  // C4
  RankedTensorType first = tensorType(inputs.front());
  const auto dimension = static_cast<int64_t>(adaptor.getDimension());
  if (failed(check.inRange("C4", "dimension", {dimension}, first.getRank())))
    return failure();
  // C2, C6
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : inputs.drop_front()) {
    RankedTensorType type = tensorType(input);
    if (type.getRank() != first.getRank())
      return check.fail("C2") << "inputs must have the same rank, found " << first << " and " << type;
    for (int64_t dim = 0; dim < first.getRank(); ++dim) {
      const int64_t size = type.getDimSize(dim);
      if (dim == dimension) {
        std::optional<int64_t> sum = isDynamic(shape[dim]) || isDynamic(size)
                                         ? std::optional<int64_t>(ShapedType::kDynamic)
                                         : llvm::checkedAdd(shape[dim], size);
        if (!sum)
          return check.fail("C6") << "the result's size does not fit 64 bits";
        shape[dim] = *sum;
        continue;
      }
      if (!areSizesCompatible(shape[dim], size))
        return check.fail("C2") << "inputs must have the same shape but for dimension " << dimension << ", found "
                                << first << " and " << type;
      if (isDynamic(shape[dim]))
        shape[dim] = size;
    }
  }
  // C5
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

// ---- Slices ----

static LogicalResult checkStartIndices(const Checker &check, StringRef sizeConstraint, StringRef typeConstraint,
                                       ValueRange starts, int64_t rank) {
  if (failed(check.size(sizeConstraint, "start_indices", starts.size(), rank)))
    return failure();
  for (Value start : starts)
    if (start.getType() != starts.front().getType())
      return check.fail(typeConstraint) << "start_indices must have the same type, found " << starts.front().getType()
                                        << " and " << start.getType();
  return success();
}

LogicalResult DynamicSliceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  // C2, C3
  if (failed(checkStartIndices(check, "C2", "C3", adaptor.getStartIndices(), operand.getRank())) ||
      failed(check.size("C2", "slice_sizes", sizes.size(), operand.getRank())))
    return failure();
  // C4
  for (auto [index, size] : llvm::enumerate(sizes)) {
    const int64_t most = operand.getDimSize(index);
    if (size < 0 || (!isDynamic(most) && size > most))
      return check.fail("C4") << "slice_sizes must be in [0, " << most << "] in dimension " << index << ", found "
                              << size;
  }
  // C1, C5
  types.push_back(tensorLike(operand, sizes, operand.getElementType()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand()), update = tensorType(adaptor.getUpdate());
  // C2
  if (failed(check.sameElementType("C2", ValueRange{adaptor.getOperand(), adaptor.getUpdate()}, /*exactly=*/true)))
    return failure();
  // C3
  if (update.getRank() != operand.getRank())
    return check.fail("C3") << "update must have rank " << operand.getRank() << ", found " << update.getRank();
  // C4, C5
  if (failed(checkStartIndices(check, "C4", "C5", adaptor.getStartIndices(), operand.getRank())))
    return failure();
  // C6
  for (auto [index, size, most] : llvm::enumerate(update.getShape(), operand.getShape()))
    if (!isDynamic(size) && !isDynamic(most) && size > most)
      return check.fail("C6") << "update must be at most " << most << " in dimension " << index << ", found " << size;
  // C1
  types.push_back(operand);
  return success();
}

LogicalResult SliceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> starts = adaptor.getStartIndices(), limits = adaptor.getLimitIndices();
  ArrayRef<int64_t> strides = adaptor.getStrides();
  // C2
  if (failed(check.size("C2", "start_indices", starts.size(), operand.getRank())) ||
      failed(check.size("C2", "limit_indices", limits.size(), operand.getRank())) ||
      failed(check.size("C2", "strides", strides.size(), operand.getRank())))
    return failure();
  // C4
  if (failed(check.atLeast("C4", "strides", strides, 1)))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [index, start, limit, stride] : llvm::enumerate(starts, limits, strides)) {
    // C3
    const int64_t size = operand.getDimSize(index);
    if (start < 0 || limit < start || (!isDynamic(size) && limit > size))
      return check.fail("C3") << "0 <= start <= limit <= " << size << " must hold in dimension " << index
                              << ", found start " << start << " and limit " << limit;
    // C5
    shape.push_back(llvm::divideCeil(static_cast<uint64_t>(limit - start), static_cast<uint64_t>(stride)));
  }
  // C1
  types.push_back(tensorLike(operand, shape, operand.getElementType()));
  return success();
}

// ---- gather, scatter, torch_index_select ----

LogicalResult GatherOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferGather(check, gatherConstraints, tensorType(adaptor.getOperand()), tensorType(adaptor.getStartIndices()),
                     adaptor.getDimensionNumbers(), adaptor.getSliceSizes(), types);
}

LogicalResult ScatterOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C5
  const size_t count = adaptor.getOperands().size();
  if (count < 3 || count % 2 == 0)
    return check.fail("C5") << "takes as many updates as inputs, at least one, around scatter_indices, found " << count
                            << " operand(s)";
  ValueRange inputs = adaptor.getInputs(), updates = adaptor.getUpdates();
  for (auto [input, update] : llvm::zip_equal(inputs, updates)) {
    // C1
    if (!areShapesCompatible(tensorType(inputs.front()).getShape(), tensorType(input).getShape()))
      return check.fail("C1") << "inputs must have the same shape, found " << inputs.front().getType() << " and "
                              << input.getType();
    // C3
    if (!areShapesCompatible(tensorType(updates.front()).getShape(), tensorType(update).getShape()))
      return check.fail("C3") << "updates must have the same shape, found " << updates.front().getType() << " and "
                              << update.getType();
    // C6
    if (failed(check.sameElementType("C6", ValueRange{input, update})))
      return failure();
  }
  // C2, C4, C7 to C22
  RankedTensorType indices = tensorType(adaptor.getScatterIndices());
  if (failed(checkScatter(check, tensorType(inputs.front()), indices, tensorType(updates.front()),
                          adaptor.getScatterDimensionNumbers())))
    return failure();
  // C23
  SmallVector<Type> elements, accumulated;
  for (Value input : inputs)
    elements.push_back(tensorType(input).getElementType());
  if (failed(checkReducer(check, "C23", adaptor.getUpdateComputation(), elements, accumulated)))
    return failure();
  // C24, C25
  for (auto [input, element] : llvm::zip_equal(inputs, accumulated))
    types.push_back(tensorLike(tensorType(input), tensorType(input).getShape(), element));
  return success();
}

LogicalResult TorchIndexSelectOp::verify() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), index = tensorType(getIndex()), result = tensorType(getResult());
  const auto dim = static_cast<int64_t>(getDim()), batchDims = static_cast<int64_t>(getBatchDims());
  if (failed(check.inRange("", "dim", {dim}, operand.getRank())))
    return failure();
  if (batchDims < 0 || batchDims > dim || batchDims > index.getRank())
    return check.fail("") << "batch_dims must be in [0, " << std::min(dim, index.getRank()) << "], found " << batchDims;
  if (operand.getElementType() != result.getElementType())
    return check.fail("") << "operand and result must have the same element type, found " << operand << " and "
                          << result;
  SmallVector<int64_t> shape(operand.getShape().take_front(dim));
  llvm::append_range(shape, index.getShape().drop_front(batchDims));
  llvm::append_range(shape, operand.getShape().drop_front(dim + 1));
  if (!areShapesCompatible(shape, result.getShape()))
    return check.fail("") << "result must have shape [" << shape << "], found " << result;
  return success();
}

// ---- pad, reverse, transpose ----

LogicalResult PadOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> low = adaptor.getEdgePaddingLow(), high = adaptor.getEdgePaddingHigh();
  ArrayRef<int64_t> interior = adaptor.getInteriorPadding();
  // C1
  if (failed(check.sameElementType("C1", adaptor.getOperands(), /*exactly=*/true)))
    return failure();
  // C2
  if (failed(check.size("C2", "edge_padding_low", low.size(), operand.getRank())) ||
      failed(check.size("C2", "edge_padding_high", high.size(), operand.getRank())) ||
      failed(check.size("C2", "interior_padding", interior.size(), operand.getRank())))
    return failure();
  // C3
  if (failed(check.atLeast("C3", "interior_padding", interior, 0)))
    return failure();
  // C4
  FailureOr<SmallVector<int64_t>> shape = paddedShape(check, "C4", operand.getShape(), low, high, interior);
  if (failed(shape))
    return failure();
  types.push_back(tensorLike(operand, *shape, operand.getElementType()));
  return success();
}

LogicalResult ReverseOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  // C2
  if (failed(check.unique("C2", "dimensions", adaptor.getDimensions())))
    return failure();
  // C3
  if (failed(check.inRange("C3", "dimensions", adaptor.getDimensions(), operand.getRank())))
    return failure();
  // C1
  types.push_back(operand);
  return success();
}

LogicalResult TransposeOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  // C2
  if (failed(check.size("C2", "permutation", permutation.size(), operand.getRank())) ||
      failed(check.unique("C2", "permutation", permutation)) ||
      failed(check.inRange("C2", "permutation", permutation, operand.getRank())))
    return failure();
  // C3
  SmallVector<int64_t> shape;
  for (int64_t dimension : permutation)
    shape.push_back(operand.getDimSize(dimension));
  // C1, C4
  Type element = operand.getElementType();
  if (auto quantized = dyn_cast<quant::UniformQuantizedPerAxisType>(element)) {
    const auto axis = llvm::find(permutation, quantized.getQuantizedDimension()) - permutation.begin();
    element = quant::UniformQuantizedPerAxisType::get(quantized.getFlags(), quantized.getStorageType(),
                                                      quantized.getExpressedType(), quantized.getScales(),
                                                      quantized.getZeroPoints(), static_cast<int32_t>(axis),
                                                      quantized.getStorageTypeMin(), quantized.getStorageTypeMax());
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

} // namespace hlo
