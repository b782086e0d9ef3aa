#include "dialects/hlo/HloIndexing.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace hlo {

// ---- Broadcast and reshape ----

std::optional<SmallVector<int64_t>> constantShape(Value shape) {
  DenseIntElementsAttr constant;
  if (!matchPattern(shape, m_Constant(&constant)))
    return std::nullopt;
  return llvm::map_to_vector(constant.getValues<APInt>(), [](APInt size) { return size.getSExtValue(); });
}

LogicalResult checkShapeOperand(const Checker &check, StringRef constraint, StringRef name, Value shape,
                                RankedTensorType result) {
  std::optional<SmallVector<int64_t>> sizes = constantShape(shape);
  if (!sizes)
    return success();
  for (int64_t size : *sizes)
    if (size < 0)
      return check.fail(constraint) << name << " must not be negative, found " << size;
  if (!areShapesCompatible(*sizes, result.getShape()))
    return check.fail(constraint) << name << " and result must agree, found [" << *sizes << "] and " << result;
  return success();
}

// A result may differ from a per-axis quantized operand in where it is quantized and, when `anyScales`, in scales and
// zero points.
static LogicalResult checkSameElement(const Checker &check, Type operand, Type result, bool anyScales) {
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(operand);
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(result);
  const bool sameScales =
      from && to && from.getScales() == to.getScales() && from.getZeroPoints() == to.getZeroPoints();
  if (from && to ? areElementsCompatible(from, to) && (anyScales || sameScales) : operand == result)
    return success();
  return check.fail("C1") << "operand and result must have the same element type, found " << operand << " and "
                          << result;
}

static LogicalResult checkBroadcastQuantization(const Checker &check, RankedTensorType operand, RankedTensorType result,
                                                ArrayRef<int64_t> dimensions) {
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!from || !to)
    return success();
  if (to.getQuantizedDimension() != dimensions[from.getQuantizedDimension()])
    return check.fail("C6") << "the result must be quantized along dimension "
                            << dimensions[from.getQuantizedDimension()] << ", found " << to.getQuantizedDimension();
  if (operand.getDimSize(from.getQuantizedDimension()) != 1)
    return success();
  const bool same = llvm::all_of(to.getScales(), [&](double scale) { return scale == from.getScales()[0]; }) &&
                    llvm::all_of(to.getZeroPoints(), [&](int64_t zero) { return zero == from.getZeroPoints()[0]; });
  if (!same)
    return check.fail("C6") << "the result must repeat the operand's scale and zero point";
  return success();
}

LogicalResult checkBroadcast(const Checker &check, RankedTensorType operand, RankedTensorType result,
                             ArrayRef<int64_t> dimensions) {
  // C1
  if (failed(checkSameElement(check, operand.getElementType(), result.getElementType(), true)))
    return failure();
  // C2
  if (failed(check.size("C2", "broadcast_dimensions", dimensions.size(), operand.getRank())))
    return failure();
  // C3
  if (failed(check.inRange("C3", "broadcast_dimensions", dimensions, result.getRank())))
    return failure();
  // C4
  if (failed(check.unique("C4", "broadcast_dimensions", dimensions)))
    return failure();
  // C5
  for (auto [index, dimension] : llvm::enumerate(dimensions)) {
    const int64_t from = operand.getDimSize(index), to = result.getDimSize(dimension);
    if (from != 1 && !areSizesCompatible(from, to))
      return check.fail("C5") << "operand dimension " << index << " of size " << from
                              << " must be 1 or match result dimension " << dimension << " of size " << to;
  }
  // C6
  return checkBroadcastQuantization(check, operand, result, dimensions);
}

LogicalResult checkReshape(const Checker &check, RankedTensorType operand, RankedTensorType result) {
  // C1
  if (failed(checkSameElement(check, operand.getElementType(), result.getElementType(), false)))
    return failure();
  // C2
  std::optional<int64_t> from = elementCount(operand.getShape()), to = elementCount(result.getShape());
  if (from && to && *from != *to)
    return check.fail("C2") << "operand and result must have as many elements, found " << *from << " and " << *to;
  // C3
  auto before = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto after = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!before || !after)
    return success();
  const int64_t first = before.getQuantizedDimension(), second = after.getQuantizedDimension();
  auto agree = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    std::optional<int64_t> x = elementCount(a), y = elementCount(b);
    return !x || !y || *x == *y;
  };
  if (!agree(operand.getShape().take_front(first), result.getShape().take_front(second)) ||
      !areSizesCompatible(operand.getDimSize(first), result.getDimSize(second)) ||
      !agree(operand.getShape().drop_front(first + 1), result.getShape().drop_front(second + 1)))
    return check.fail("C3") << "the quantized dimension must keep its size and the number of elements on either side, "
                            << "found " << operand << " and " << result;
  return success();
}

// ---- Pad ----

FailureOr<SmallVector<int64_t>> paddedShape(const Checker &check, StringRef constraint, ArrayRef<int64_t> shape,
                                            ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> result;
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (isDynamic(size)) {
      result.push_back(size);
      continue;
    }
    std::optional<int64_t> padded = llvm::checkedMulAdd(std::max<int64_t>(size - 1, 0), interior[index], size);
    if (padded)
      padded = llvm::checkedAdd(*padded, low[index]);
    if (padded)
      padded = llvm::checkedAdd(*padded, high[index]);
    if (!padded || *padded < 0)
      return check.fail(constraint) << "padding must leave a size of at least 0 that fits 64 bits in dimension "
                                    << index;
    result.push_back(*padded);
  }
  return result;
}

// ---- Gather ----

static SmallVector<int64_t> concatenated(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> both(a);
  llvm::append_range(both, b);
  return both;
}

// The length of an index vector, 1 when indices are scalars.
static int64_t vectorSize(RankedTensorType indices, int64_t vectorDim) {
  return vectorDim < indices.getRank() ? indices.getDimSize(vectorDim) : 1;
}

static LogicalResult checkAtMostOne(const Checker &check, StringRef constraint, StringRef name, ArrayRef<int64_t> dims,
                                    ArrayRef<int64_t> sizes) {
  for (int64_t dim : dims)
    if (!isDynamic(sizes[dim]) && sizes[dim] > 1)
      return check.fail(constraint) << "slice_sizes must be at most 1 in " << name << ", found " << sizes[dim]
                                    << " in dimension " << dim;
  return success();
}

// The batching constraints, gather's C13 to C17 and scatter's C14 to C18.
static LogicalResult checkBatching(const Checker &check, ArrayRef<StringRef> constraints, StringRef operandName,
                                   StringRef indicesName, RankedTensorType operand, RankedTensorType indices,
                                   ArrayRef<int64_t> operandDims, ArrayRef<int64_t> indicesDims, int64_t vectorDim) {
  if (failed(check.unique(constraints[0], indicesName, indicesDims)) ||
      failed(check.inRange(constraints[1], indicesName, indicesDims, indices.getRank())))
    return failure();
  if (llvm::is_contained(indicesDims, vectorDim))
    return check.fail(constraints[2]) << indicesName << " must not contain index_vector_dim " << vectorDim;
  if (operandDims.size() != indicesDims.size())
    return check.fail(constraints[3]) << operandName << " and " << indicesName << " must have as many elements, found "
                                      << operandDims.size() << " and " << indicesDims.size();
  for (auto [first, second] : llvm::zip_equal(operandDims, indicesDims))
    if (!areSizesCompatible(operand.getDimSize(first), indices.getDimSize(second)))
      return check.fail(constraints[4]) << "batching dimensions must have the same size, found "
                                        << operand.getDimSize(first) << " and " << indices.getDimSize(second);
  return success();
}

LogicalResult inferGather(const Checker &check, const GatherConstraints &constraints, RankedTensorType operand,
                          RankedTensorType indices, GatherDimensionNumbersAttr dims, ArrayRef<int64_t> sliceSizes,
                          SmallVectorImpl<Type> &types) {
  const int64_t rank = operand.getRank(), vectorDim = dims.getIndexVectorDim();
  ArrayRef<int64_t> offset = dims.getOffsetDims(), collapsed = dims.getCollapsedSliceDims();
  ArrayRef<int64_t> batching = dims.getOperandBatchingDims(), map = dims.getStartIndexMap();
  // C1
  if (static_cast<int64_t>(offset.size() + collapsed.size() + batching.size()) != rank)
    return check.fail(constraints.rank) << "offset_dims, collapsed_slice_dims and operand_batching_dims must have "
                                        << rank << " elements together, found "
                                        << offset.size() + collapsed.size() + batching.size();
  // C2
  if (vectorDim < 0 || vectorDim > indices.getRank())
    return check.fail(constraints.vectorRange)
           << "index_vector_dim must be in [0, " << indices.getRank() << "], found " << vectorDim;
  // C3
  if (!areSizesCompatible(vectorSize(indices, vectorDim), static_cast<int64_t>(map.size())))
    return check.fail(constraints.mapSize)
           << "start_index_map must have " << vectorSize(indices, vectorDim) << " element(s), found " << map.size();
  // C4
  if (failed(check.unique(constraints.offsetOrder, "offset_dims", offset)) ||
      failed(check.sorted(constraints.offsetOrder, "offset_dims", offset)))
    return failure();
  // C5
  const int64_t batchRank = indices.getRank() - (vectorDim < indices.getRank() ? 1 : 0);
  const int64_t resultRank = batchRank + static_cast<int64_t>(offset.size());
  if (failed(check.inRange(constraints.offsetRange, "offset_dims", offset, resultRank)))
    return failure();
  // C6 to C8
  if (failed(check.unique(constraints.collapsedUnique, "collapsed_slice_dims and operand_batching_dims",
                          concatenated(collapsed, batching))) ||
      failed(check.sorted(constraints.collapsedSorted, "collapsed_slice_dims", collapsed)) ||
      failed(check.inRange(constraints.collapsedRange, "collapsed_slice_dims", collapsed, rank)))
    return failure();
  // C20, before the sizes are read
  if (failed(check.size(constraints.sliceCount, "slice_sizes", sliceSizes.size(), rank)))
    return failure();
  // C9
  if (failed(checkAtMostOne(check, constraints.collapsedSizes, "collapsed_slice_dims", collapsed, sliceSizes)))
    return failure();
  // C10 to C17
  if (failed(check.sorted("C10", "operand_batching_dims", batching)) ||
      failed(check.inRange("C11", "operand_batching_dims", batching, rank)) ||
      failed(checkAtMostOne(check, "C12", "operand_batching_dims", batching, sliceSizes)) ||
      failed(checkBatching(check, {"C13", "C14", "C15", "C16", "C17"}, "operand_batching_dims",
                           "start_indices_batching_dims", operand, indices, batching,
                           dims.getStartIndicesBatchingDims(), vectorDim)))
    return failure();
  // C18, C19
  if (failed(check.unique(constraints.mapUnique, "start_index_map and operand_batching_dims",
                          concatenated(map, batching))) ||
      failed(check.inRange(constraints.mapRange, "start_index_map", map, rank)))
    return failure();
  // C21
  for (auto [index, size] : llvm::enumerate(sliceSizes)) {
    const int64_t most = operand.getDimSize(index);
    if (!isDynamic(size) && (size < 0 || (!isDynamic(most) && size > most)))
      return check.fail(constraints.sliceRange)
             << "slice_sizes must be in [0, " << most << "] in dimension " << index << ", found " << size;
  }
  // C22, C23: batch sizes and kept slice sizes, each in order, where offset_dims says
  SmallVector<int64_t> kept, shape;
  for (auto [index, size] : llvm::enumerate(sliceSizes))
    if (!llvm::is_contained(collapsed, index) && !llvm::is_contained(batching, index))
      kept.push_back(size);
  int64_t batch = 0, slice = 0;
  for (int64_t dim = 0; dim < resultRank; ++dim) {
    if (llvm::is_contained(offset, dim)) {
      shape.push_back(kept[slice++]);
      continue;
    }
    if (batch == vectorDim)
      ++batch;
    shape.push_back(indices.getDimSize(batch++));
  }
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

// ---- Scatter ----

static LogicalResult checkScatterDims(const Checker &check, RankedTensorType input, RankedTensorType indices,
                                      RankedTensorType update, ScatterDimensionNumbersAttr dims) {
  const int64_t rank = input.getRank(), vectorDim = dims.getIndexVectorDim();
  ArrayRef<int64_t> window = dims.getUpdateWindowDims(), inserted = dims.getInsertedWindowDims();
  ArrayRef<int64_t> batching = dims.getInputBatchingDims(), map = dims.getScatterDimsToOperandDims();
  // C2
  if (static_cast<int64_t>(window.size() + inserted.size() + batching.size()) != rank)
    return check.fail("C2") << "update_window_dims, inserted_window_dims and input_batching_dims must have " << rank
                            << " elements together, found " << window.size() + inserted.size() + batching.size();
  // C7, C8
  if (failed(check.unique("C7", "update_window_dims", window)) ||
      failed(check.sorted("C7", "update_window_dims", window)) ||
      failed(check.inRange("C8", "update_window_dims", window, update.getRank())))
    return failure();
  // C9 to C13
  if (failed(check.unique("C9", "inserted_window_dims and input_batching_dims", concatenated(inserted, batching))) ||
      failed(check.sorted("C10", "inserted_window_dims", inserted)) ||
      failed(check.inRange("C11", "inserted_window_dims", inserted, rank)) ||
      failed(check.sorted("C12", "input_batching_dims", batching)) ||
      failed(check.inRange("C13", "input_batching_dims", batching, rank)))
    return failure();
  // C22, before index_vector_dim is used
  if (vectorDim < 0 || vectorDim > indices.getRank())
    return check.fail("C22") << "index_vector_dim must be in [0, " << indices.getRank() << "], found " << vectorDim;
  // C14 to C18
  if (failed(checkBatching(check, {"C14", "C15", "C16", "C17", "C18"}, "input_batching_dims",
                           "scatter_indices_batching_dims", input, indices, batching,
                           dims.getScatterIndicesBatchingDims(), vectorDim)))
    return failure();
  // C19
  if (!areSizesCompatible(vectorSize(indices, vectorDim), static_cast<int64_t>(map.size())))
    return check.fail("C19") << "scatter_dims_to_operand_dims must have " << vectorSize(indices, vectorDim)
                             << " element(s), found " << map.size();
  // C20, C21
  if (failed(check.unique("C20", "scatter_dims_to_operand_dims and input_batching_dims", concatenated(map, batching))))
    return failure();
  return check.inRange("C21", "scatter_dims_to_operand_dims", map, rank);
}

LogicalResult checkScatter(const Checker &check, RankedTensorType input, RankedTensorType indices,
                           RankedTensorType update, ScatterDimensionNumbersAttr dims) {
  if (failed(checkScatterDims(check, input, indices, update, dims)))
    return failure();
  // C4
  const int64_t vectorDim = dims.getIndexVectorDim();
  SmallVector<int64_t> scatterSizes, windowSizes;
  for (auto [dim, size] : llvm::enumerate(indices.getShape()))
    if (static_cast<int64_t>(dim) != vectorDim)
      scatterSizes.push_back(size);
  for (auto [dim, size] : llvm::enumerate(input.getShape()))
    if (!llvm::is_contained(dims.getInsertedWindowDims(), dim) && !llvm::is_contained(dims.getInputBatchingDims(), dim))
      windowSizes.push_back(size);
  const auto expected = static_cast<int64_t>(scatterSizes.size() + windowSizes.size());
  if (update.getRank() != expected)
    return check.fail("C4") << "updates must have rank " << expected << ", found " << update.getRank();
  size_t window = 0, scatter = 0;
  for (auto [dim, size] : llvm::enumerate(update.getShape())) {
    if (llvm::is_contained(dims.getUpdateWindowDims(), dim)) {
      const int64_t most = windowSizes[window++];
      if (!isDynamic(size) && !isDynamic(most) && size > most)
        return check.fail("C4") << "update window dimension " << dim << " must be at most " << most << ", found "
                                << size;
      continue;
    }
    const int64_t other = scatterSizes[scatter++];
    if (!areSizesCompatible(size, other))
      return check.fail("C4") << "update dimension " << dim << " must have size " << other << ", found " << size;
  }
  return success();
}

} // namespace hlo
