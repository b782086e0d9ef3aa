#include "dialects/hlo/HloOpsContraction.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloWindow.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsContraction.cpp.inc"

namespace hlo {

void HloDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsContraction.cpp.inc"
      >();
}

// The numbers of constraints on element types that dot_general and convolution have in common.
struct ElementConstraints {
  StringRef plain, quantized, storage, expressed, perTensor, hybrid;
  // A dot product may mix formats of one kind, as front ends do with 8-bit floats.
  bool sameElements;
};
static constexpr ElementConstraints dotElements = {"C13", "C14", "C17", "C18", "C19", "C20", false};
static constexpr ElementConstraints convolutionElements = {"C27", "C28", "C31", "C32", "C33", "C34", true};

static LogicalResult checkQuantizedElements(const Checker &check, const ElementConstraints &numbers, Type lhs, Type rhs,
                                            Type result) {
  auto left = dyn_cast<quant::QuantizedType>(lhs), right = dyn_cast<quant::QuantizedType>(rhs);
  if (!right || isQuantized(lhs) != isQuantized(result))
    return check.fail(numbers.quantized) << "rhs must be quantized, and lhs and result both or neither, found " << lhs
                                         << ", " << rhs << " and " << result;
  if (!left) {
    if (lhs != right.getExpressedType() || lhs != result)
      return check.fail(numbers.hybrid) << "lhs and result must have the type that rhs expresses, found " << lhs << ", "
                                        << rhs << " and " << result;
    return success();
  }
  if (left.getStorageType() != right.getStorageType() || left.isSigned() != right.isSigned())
    return check.fail(numbers.storage) << "lhs and rhs must store the same type, found " << lhs << " and " << rhs;
  if (left.getExpressedType() != right.getExpressedType() || left.getExpressedType() != expressedType(result))
    return check.fail(numbers.expressed) << "lhs, rhs and result must express the same type, found " << lhs << ", "
                                         << rhs << " and " << result;
  if (isa<quant::UniformQuantizedType>(rhs) && !isa<quant::UniformQuantizedType>(result))
    return check.fail(numbers.perTensor) << "the result must be quantized per tensor as rhs is, found " << result;
  return success();
}

// Operands of one element type. The result's may be wider, or another: that is the precision the sums are kept in.
static LogicalResult checkElements(const Checker &check, const ElementConstraints &numbers, RankedTensorType lhs,
                                   RankedTensorType rhs, RankedTensorType result) {
  Type left = lhs.getElementType(), right = rhs.getElementType();
  if (isQuantized(left) || isQuantized(right) || isQuantized(result.getElementType()))
    return checkQuantizedElements(check, numbers, left, right, result.getElementType());
  if (numbers.sameElements && left != right)
    return check.fail(numbers.plain) << "lhs and rhs must have the same element type, found " << left << " and "
                                     << right;
  auto kind = [](Type type) {
    return isComplex(type) ? 0 : isFloat(type) ? 1 : isPred(type) ? 2 : isSignedInteger(type) ? 3 : 4;
  };
  if (kind(left) != kind(right))
    return check.fail(numbers.plain) << "lhs and rhs must have elements of one kind, found " << left << " and "
                                     << right;
  return success();
}

static LogicalResult checkPrecision(const Checker &check, StringRef constraint, std::optional<ArrayAttr> precision) {
  // Operands that the list does not reach have the default.
  if (!precision || precision->size() <= 2)
    return success();
  return check.fail(constraint) << "precision_config must have at most 2 elements, found " << precision->size();
}

// ---- dot, dot_general ----

LogicalResult DotOp::verify() {
  Checker check(*this);
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs()), result = tensorType(getResult());
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 || rhs.getRank() > 2)
    return check.fail("") << "operands must be vectors or matrices, found " << lhs << " and " << rhs;
  if (!areSizesCompatible(lhs.getShape().back(), rhs.getShape().front()))
    return check.fail("") << "contracting dimensions must have the same size, found " << lhs.getShape().back()
                          << " and " << rhs.getShape().front();
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  if (!areShapesCompatible(shape, result.getShape()))
    return check.fail("") << "result must have shape [" << shape << "], found " << result;
  if (failed(checkPrecision(check, "", getPrecisionConfig())))
    return failure();
  return checkElements(check, dotElements, lhs, rhs, result);
}

static LogicalResult checkSide(const Checker &check, StringRef side, StringRef uniqueConstraint,
                               StringRef batchConstraint, StringRef contractConstraint, int64_t rank,
                               ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> all(batching);
  llvm::append_range(all, contracting);
  const std::string batchName = (side + "_batching_dimensions").str();
  const std::string contractName = (side + "_contracting_dimensions").str();
  if (failed(check.unique(uniqueConstraint, batchName + " and " + contractName, all)) ||
      failed(check.inRange(batchConstraint, batchName, batching, rank)))
    return failure();
  return check.inRange(contractConstraint, contractName, contracting, rank);
}

static LogicalResult checkPairs(const Checker &check, StringRef constraint, StringRef name, RankedTensorType lhs,
                                RankedTensorType rhs, ArrayRef<int64_t> lhsDims, ArrayRef<int64_t> rhsDims) {
  for (auto [left, right] : llvm::zip_equal(lhsDims, rhsDims))
    if (!areSizesCompatible(lhs.getDimSize(left), rhs.getDimSize(right)))
      return check.fail(constraint) << name << " dimensions must have the same size, found " << lhs.getDimSize(left)
                                    << " and " << rhs.getDimSize(right);
  return success();
}

static void appendOthers(SmallVectorImpl<int64_t> &shape, RankedTensorType type, ArrayRef<int64_t> batching,
                         ArrayRef<int64_t> contracting) {
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
      shape.push_back(size);
}

LogicalResult DotGeneralOp::verify() {
  Checker check(*this);
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs()), result = tensorType(getResult());
  DotDimensionNumbersAttr dims = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatch = dims.getLhsBatchingDimensions(), rhsBatch = dims.getRhsBatchingDimensions();
  ArrayRef<int64_t> lhsContract = dims.getLhsContractingDimensions(), rhsContract = dims.getRhsContractingDimensions();
  // C1, C2
  if (lhsBatch.size() != rhsBatch.size())
    return check.fail("C1") << "lhs and rhs must have as many batching dimensions, found " << lhsBatch.size() << " and "
                            << rhsBatch.size();
  if (lhsContract.size() != rhsContract.size())
    return check.fail("C2") << "lhs and rhs must have as many contracting dimensions, found " << lhsContract.size()
                            << " and " << rhsContract.size();
  // C3, C5, C6 of lhs; C4, C7, C8 of rhs
  if (failed(checkSide(check, "lhs", "C3", "C5", "C6", lhs.getRank(), lhsBatch, lhsContract)) ||
      failed(checkSide(check, "rhs", "C4", "C7", "C8", rhs.getRank(), rhsBatch, rhsContract)))
    return failure();
  // C9, C10
  if (failed(checkPairs(check, "C9", "batching", lhs, rhs, lhsBatch, rhsBatch)) ||
      failed(checkPairs(check, "C10", "contracting", lhs, rhs, lhsContract, rhsContract)))
    return failure();
  // C11
  if (failed(checkPrecision(check, "C11", getPrecisionConfig())))
    return failure();
  // C12
  SmallVector<int64_t> shape;
  for (auto [left, right] : llvm::zip_equal(lhsBatch, rhsBatch))
    shape.push_back(isDynamic(lhs.getDimSize(left)) ? rhs.getDimSize(right) : lhs.getDimSize(left));
  appendOthers(shape, lhs, lhsBatch, lhsContract);
  appendOthers(shape, rhs, rhsBatch, rhsContract);
  if (!areShapesCompatible(shape, result.getShape()))
    return check.fail("C12") << "result must have shape [" << shape << "], found " << result;
  // C13 to C20
  if (failed(checkElements(check, dotElements, lhs, rhs, result)))
    return failure();
  if (auto quantized = dyn_cast<quant::UniformQuantizedType>(rhs.getElementType());
      quantized && quantized.getZeroPoint())
    return check.fail("C15") << "the zero point of rhs must be 0, found " << quantized.getZeroPoint();
  if (auto quantized = dyn_cast<quant::UniformQuantizedPerAxisType>(rhs.getElementType())) {
    if (llvm::any_of(quantized.getZeroPoints(), [](int64_t zeroPoint) { return zeroPoint != 0; }))
      return check.fail("C15") << "the zero points of rhs must be 0, found " << rhs.getElementType();
    if (llvm::is_contained(rhsContract, quantized.getQuantizedDimension()))
      return check.fail("C16") << "rhs must not be quantized along contracting dimension "
                               << quantized.getQuantizedDimension();
  }
  // C21; C22 to C24 are the attribute's own
  if (!getAlgorithm() || !getPrecisionConfig())
    return success();
  for (auto precision : getPrecisionConfig()->getAsRange<PrecisionAttr>())
    if (precision.getValue() != Precision::DEFAULT)
      return check.fail("C21") << "precision_config must be DEFAULT when an algorithm is given, found "
                               << stringifyPrecision(precision.getValue());
  return success();
}

// ---- ragged_dot ----

// In which kind of lhs dimension the groups lie: that decides what the other operands and the result have.
enum class RaggedMode { NonContracting, Contracting, Batching };

static FailureOr<RaggedMode> raggedMode(const Checker &check, RaggedDotDimensionNumbersAttr dims, int64_t lhsRank) {
  // C1
  ArrayRef<int64_t> ragged = dims.getLhsRaggedDimensions();
  if (failed(check.size("C1", "lhs_ragged_dimensions", ragged.size(), 1)) ||
      failed(check.inRange("C1", "lhs_ragged_dimensions", ragged, lhsRank)))
    return failure();
  if (llvm::is_contained(dims.getLhsBatchingDimensions(), ragged[0]))
    return RaggedMode::Batching;
  return llvm::is_contained(dims.getLhsContractingDimensions(), ragged[0]) ? RaggedMode::Contracting
                                                                           : RaggedMode::NonContracting;
}

// Group sizes with more than one dimension start with the dimensions of lhs that the groups depend on: the batching
// ones, then those of the ragged dimension's kind before it.
static LogicalResult checkGroupPrefix(const Checker &check, RaggedDotDimensionNumbersAttr dims, RaggedMode mode,
                                      RankedTensorType lhs, RankedTensorType groups) {
  if (groups.getRank() == 1)
    return success();
  const int64_t ragged = dims.getLhsRaggedDimensions()[0];
  SmallVector<int64_t> prefix;
  auto appendBefore = [&](ArrayRef<int64_t> dimensions) {
    for (int64_t dim : dimensions) {
      if (dim == ragged)
        return;
      prefix.push_back(lhs.getDimSize(dim));
    }
  };
  if (mode == RaggedMode::Batching) {
    appendBefore(dims.getLhsBatchingDimensions());
  } else {
    for (int64_t dim : dims.getLhsBatchingDimensions())
      prefix.push_back(lhs.getDimSize(dim));
    if (mode == RaggedMode::Contracting) {
      appendBefore(dims.getLhsContractingDimensions());
    } else {
      SmallVector<int64_t> others;
      for (int64_t dim = 0; dim < lhs.getRank(); ++dim)
        if (!llvm::is_contained(dims.getLhsBatchingDimensions(), dim) &&
            !llvm::is_contained(dims.getLhsContractingDimensions(), dim))
          others.push_back(dim);
      appendBefore(others);
    }
  }
  prefix.push_back(groups.getShape().back());
  if (!areShapesCompatible(groups.getShape(), prefix))
    return check.fail("C4") << "group_sizes must have shape [" << prefix << "], found " << groups;
  return success();
}

LogicalResult RaggedDotOp::verify() {
  Checker check(*this);
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs()), result = tensorType(getResult());
  RankedTensorType groups = tensorType(getGroupSizes());
  RaggedDotDimensionNumbersAttr dims = getRaggedDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatch = dims.getLhsBatchingDimensions(), rhsBatch = dims.getRhsBatchingDimensions();
  ArrayRef<int64_t> lhsContract = dims.getLhsContractingDimensions(), rhsContract = dims.getRhsContractingDimensions();
  ArrayRef<int64_t> rhsGroup = dims.getRhsGroupDimensions();
  FailureOr<RaggedMode> mode = raggedMode(check, dims, lhs.getRank());
  if (failed(mode))
    return failure();
  // C2: dimension numbers are those of a dot product, with rhs's group dimension set apart
  if (lhsBatch.size() != rhsBatch.size() || lhsContract.size() != rhsContract.size())
    return check.fail("C2") << "lhs and rhs must have as many batching and as many contracting dimensions";
  SmallVector<int64_t> rhsReserved(rhsContract);
  llvm::append_range(rhsReserved, rhsGroup);
  if (failed(checkSide(check, "lhs", "C2", "C2", "C2", lhs.getRank(), lhsBatch, lhsContract)) ||
      failed(checkSide(check, "rhs", "C2", "C2", "C2", rhs.getRank(), rhsBatch, rhsReserved)) ||
      failed(checkPairs(check, "C2", "batching", lhs, rhs, lhsBatch, rhsBatch)) ||
      failed(checkPairs(check, "C2", "contracting", lhs, rhs, lhsContract, rhsContract)))
    return failure();
  // C3
  const size_t groupDims = *mode == RaggedMode::NonContracting ? 1 : 0;
  if (failed(check.size("C3", "rhs_group_dimensions", rhsGroup.size(), groupDims)))
    return failure();
  // C4: the groups of all, or one set of groups for each index of the dimensions that come before the ragged one
  if (groups.getRank() < 1)
    return check.fail("C4") << "group_sizes must have a dimension, found " << groups;
  const int64_t groupCount = groups.getShape().back();
  if (groupDims == 1 && !areSizesCompatible(groupCount, rhs.getDimSize(rhsGroup[0])))
    return check.fail("C4") << "group_sizes must have " << rhs.getDimSize(rhsGroup[0]) << " groups, found "
                            << groupCount;
  if (failed(checkGroupPrefix(check, dims, *mode, lhs, groups)))
    return failure();
  // C5
  SmallVector<int64_t> shape;
  if (*mode == RaggedMode::Contracting)
    shape.push_back(groupCount);
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  appendOthers(shape, lhs, lhsBatch, lhsContract);
  appendOthers(shape, rhs, rhsBatch, rhsReserved);
  if (!areShapesCompatible(shape, result.getShape()))
    return check.fail("C5") << "result must have shape [" << shape << "], found " << result;
  return checkPrecision(check, "C6", getPrecisionConfig());
}

// ---- convolution ----

namespace {
// What convolution and dynamic_conv have in common.
struct Convolution {
  RankedTensorType lhs, rhs, result;
  ConvDimensionNumbersAttr dims;
  int64_t featureGroups, batchGroups;
};
} // namespace

// C1, C10 to C26. The dimension numbers themselves are permutations: the attribute's verifier sees to it.
static LogicalResult checkConvolution(const Checker &check, const Convolution &conv, ArrayRef<WindowDimension> window,
                                      bool paddingKnown) {
  const int64_t rank = conv.lhs.getRank();
  // C21 to C23
  if (failed(check.atLeast("C21", "feature_group_count", {conv.featureGroups}, 1)) ||
      failed(check.atLeast("C22", "batch_group_count", {conv.batchGroups}, 1)))
    return failure();
  if (conv.featureGroups > 1 && conv.batchGroups > 1)
    return check.fail("C23") << "feature_group_count and batch_group_count must not both exceed 1, found "
                             << conv.featureGroups << " and " << conv.batchGroups;
  auto divides = [&](StringRef constraint, StringRef name, int64_t size, int64_t groups) -> LogicalResult {
    if (!isDynamic(size) && size % groups != 0)
      return check.fail(constraint) << name << " dimension of size " << size << " must be a multiple of " << groups;
    return success();
  };
  const int64_t batch = conv.lhs.getDimSize(conv.dims.getInputBatchDimension());
  const int64_t feature = conv.lhs.getDimSize(conv.dims.getInputFeatureDimension());
  const int64_t kernelIn = conv.rhs.getDimSize(conv.dims.getKernelInputFeatureDimension());
  const int64_t kernelOut = conv.rhs.getDimSize(conv.dims.getKernelOutputFeatureDimension());
  // C10, C11, C15, C16
  if (failed(divides("C10", "input batch", batch, conv.batchGroups)) ||
      failed(divides("C11", "input feature", feature, conv.featureGroups)) ||
      failed(divides("C15", "kernel output feature", kernelOut, conv.batchGroups)) ||
      failed(divides("C16", "kernel output feature", kernelOut, conv.featureGroups)))
    return failure();
  // C14
  if (!isDynamic(feature) && !areSizesCompatible(kernelIn, feature / conv.featureGroups))
    return check.fail("C14") << "kernel input feature dimension must have size " << feature / conv.featureGroups
                             << ", found " << kernelIn;
  // C26
  if (conv.result.getRank() != rank)
    return check.fail("C26") << "result must have rank " << rank << ", found " << conv.result.getRank();
  // C25
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  if (!isDynamic(batch))
    shape[conv.dims.getOutputBatchDimension()] = batch / conv.batchGroups;
  shape[conv.dims.getOutputFeatureDimension()] = kernelOut;
  for (auto [index, dimension] : llvm::enumerate(window)) {
    WindowDimension sized = dimension;
    sized.size = conv.rhs.getDimSize(conv.dims.getKernelSpatialDimensions()[index]);
    if (paddingKnown)
      shape[conv.dims.getOutputSpatialDimensions()[index]] =
          windowCount(conv.lhs.getDimSize(conv.dims.getInputSpatialDimensions()[index]), sized);
  }
  if (!areShapesCompatible(shape, conv.result.getShape()))
    return check.fail("C25") << "result must have shape [" << shape << "], found " << conv.result;
  return success();
}

static LogicalResult checkConvolutionQuantization(const Checker &check, const Convolution &conv) {
  // C27, C28, C31 to C34
  if (failed(checkElements(check, convolutionElements, conv.lhs, conv.rhs, conv.result)))
    return failure();
  // C29, C30
  auto axis = [&](StringRef constraint, StringRef name, Type element, int64_t expected) -> LogicalResult {
    auto quantized = dyn_cast<quant::UniformQuantizedPerAxisType>(element);
    if (quantized && quantized.getQuantizedDimension() != expected)
      return check.fail(constraint) << name << " must be quantized along dimension " << expected << ", found "
                                    << quantized.getQuantizedDimension();
    return success();
  };
  if (failed(axis("C29", "rhs", conv.rhs.getElementType(), conv.dims.getKernelOutputFeatureDimension())))
    return failure();
  return axis("C30", "result", conv.result.getElementType(), conv.dims.getOutputFeatureDimension());
}

template <typename Op> static LogicalResult verifyConvolution(Op op, DenseIntElementsAttr padding) {
  Checker check(op);
  Convolution conv = {tensorType(op.getLhs()),
                      tensorType(op.getRhs()),
                      tensorType(op.getResult()),
                      op.getDimensionNumbers(),
                      static_cast<int64_t>(op.getFeatureGroupCount()),
                      static_cast<int64_t>(op.getBatchGroupCount())};
  // C1
  const int64_t rank = conv.lhs.getRank();
  if (rank != conv.rhs.getRank())
    return check.fail("C1") << "lhs and rhs must have the same rank, found " << conv.lhs << " and " << conv.rhs;
  // C12, C17, C19; with them C13, C18, C20
  const auto spatial = static_cast<int64_t>(conv.dims.getInputSpatialDimensions().size());
  if (spatial != rank - 2)
    return check.fail("C12") << "dimension_numbers must have " << rank - 2 << " spatial dimensions, found " << spatial;
  // C2 to C8
  FailureOr<SmallVector<WindowDimension>> window = checkWindow(check, spatial,
                                                               {{},
                                                                {"window_strides", op.getWindowStrides(), "C2", "C3"},
                                                                {"lhs_dilation", op.getLhsDilation(), "C5", "C6"},
                                                                {"rhs_dilation", op.getRhsDilation(), "C7", "C8"},
                                                                padding,
                                                                "C4"});
  if (failed(window))
    return failure();
  // C9
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal())
    if (failed(check.size("C9", "window_reversal", reversal->size(), spatial)))
      return failure();
  constexpr bool paddingKnown = std::is_same_v<Op, ConvolutionOp>;
  if (failed(checkConvolution(check, conv, *window, paddingKnown)))
    return failure();
  // C24
  if (failed(checkPrecision(check, "C24", op.getPrecisionConfig())))
    return failure();
  return checkConvolutionQuantization(check, conv);
}

LogicalResult ConvolutionOp::verify() { return verifyConvolution(*this, getPaddingAttr()); }

LogicalResult DynamicConvOp::verify() {
  // C4
  RankedTensorType padding = tensorType(getPadding());
  const int64_t spatial = tensorType(getLhs()).getRank() - 2;
  if (padding.getDimSize(0) != spatial || padding.getDimSize(1) != 2)
    return Checker(*this).fail("C4") << "padding must have shape [" << spatial << ", 2], found " << padding;
  return verifyConvolution(*this, DenseIntElementsAttr());
}

// ---- einsum ----

// Checks "ij,jk->ik": one letter a dimension, the same size wherever a letter occurs, and output letters among the
// inputs'. "..." stands for leading dimensions and is left to run time.
static LogicalResult checkEinsum(const Checker &check, StringRef config, ValueRange operands, RankedTensorType result) {
  auto [inputs, output] = config.split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (!config.contains("->") || terms.size() != operands.size())
    return check.fail("") << "einsum_config must have " << operands.size() << " input(s) and an output, found '"
                          << config << "'";
  if (config.contains("..."))
    return success();
  llvm::SmallDenseMap<char, int64_t> sizes;
  auto visit = [&](StringRef term, RankedTensorType type) -> LogicalResult {
    if (static_cast<int64_t>(term.size()) != type.getRank())
      return check.fail("") << "'" << term << "' must name each dimension of " << type;
    for (auto [letter, size] : llvm::zip_equal(term, type.getShape())) {
      int64_t &known = sizes.try_emplace(letter, size).first->second;
      if (!areSizesCompatible(known, size))
        return check.fail("") << "dimension '" << Twine(letter) << "' must have one size, found " << known << " and "
                              << size;
      known = isDynamic(known) ? size : known;
    }
    return success();
  };
  for (auto [term, operand] : llvm::zip_equal(terms, operands))
    if (failed(visit(term.trim(), tensorType(operand))))
      return failure();
  for (char letter : output.trim())
    if (!sizes.contains(letter))
      return check.fail("") << "dimension '" << Twine(letter) << "' of the output must be an input's";
  return visit(output.trim(), result);
}

LogicalResult EinsumOp::verify() {
  return checkEinsum(Checker(*this), getEinsumConfig(), getOperands(), tensorType(getResult()));
}

LogicalResult UnaryEinsumOp::verify() {
  return checkEinsum(Checker(*this), getEinsumConfig(), getOperation()->getOperands(), tensorType(getResult()));
}

} // namespace hlo
