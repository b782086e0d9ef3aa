#include "dialects/hlo/HloOpsCollective.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloOpsControlFlow.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsCollective.cpp.inc"

namespace hlo {

void HloDialect::registerCollectiveOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsCollective.cpp.inc"
      >();
}

// ---- Replica groups ----

// What an operation asks of its groups beside being disjoint.
struct GroupRules {
  // Every process from 0 to the greatest is in a group.
  bool complete = true;
  // Groups have the same size, else shorter ones are padded with -1.
  bool sameSize = true;
};

// Checks groups of processes: a matrix, a row a group; or the axes of a mesh. Gives the size of a group, dynamic when
// it is a mesh's.
static FailureOr<int64_t> checkGroups(const Checker &check, StringRef uniqueConstraint, StringRef rangeConstraint,
                                      Attribute groups, GroupRules rules) {
  auto matrix = dyn_cast<DenseIntElementsAttr>(groups);
  if (!matrix)
    return ShapedType::kDynamic;
  if (matrix.getType().getRank() != 2)
    return check.fail(rangeConstraint) << "replica_groups must be a matrix, found " << matrix.getType();
  llvm::SmallSet<int64_t, 16> seen;
  int64_t most = -1;
  for (int64_t process : matrix.getValues<int64_t>()) {
    if (process == -1 && !rules.sameSize)
      continue;
    if (process < 0)
      return check.fail(rangeConstraint) << "replica_groups must not be negative, found " << process;
    if (!seen.insert(process).second)
      return check.fail(uniqueConstraint) << "replica_groups must be unique, found " << process << " twice";
    most = std::max(most, process);
  }
  if (rules.complete && most + 1 != static_cast<int64_t>(seen.size()))
    return check.fail(rangeConstraint) << "replica_groups must hold each process from 0 to " << most;
  return matrix.getType().getDimSize(1);
}

static LogicalResult checkChannel(const Checker &check, StringRef constraint, bool useGlobalIds,
                                  std::optional<ChannelHandleAttr> channel) {
  if (useGlobalIds && (!channel || channel->getHandle() <= 0))
    return check.fail(constraint) << "use_global_device_ids needs a channel with a positive handle";
  return success();
}

// C1 to C4 of collective_permute, send and recv.
static LogicalResult checkPairs(const Checker &check, DenseIntElementsAttr pairs) {
  ArrayRef<int64_t> shape = pairs.getType().getShape();
  if (shape.size() != 2 || shape[1] != 2)
    return check.fail("C1") << "source_target_pairs must have shape [N, 2], found [" << shape << "]";
  llvm::SmallSet<int64_t, 16> sources, targets;
  for (auto [index, process] : llvm::enumerate(pairs.getValues<int64_t>())) {
    const bool isSource = index % 2 == 0;
    if (process < 0)
      return check.fail("C4") << "source_target_pairs must not be negative, found " << process;
    if (!(isSource ? sources : targets).insert(process).second)
      return check.fail(isSource ? "C2" : "C3")
             << (isSource ? "sources" : "targets") << " must be unique, found " << process << " twice";
  }
  return success();
}

static SmallVector<Type> elementTypes(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) { return elementTypeOf(value.getType()); });
}

// A computation reduces elements of each operand: one reducer for all, of a type each operand's element widens to.
static LogicalResult checkComputation(const Checker &check, StringRef constraint, Region &computation,
                                      ValueRange operands, Type &accumulated) {
  SmallVector<Type> elements;
  if (failed(checkReducer(check, constraint, computation, {elementTypeOf(operands.front().getType())}, elements)))
    return failure();
  for (Type element : elementTypes(operands))
    if (!isPromotable(element, elements.front()))
      return check.fail(constraint) << "the element types of operands must widen to the computation's "
                                    << elements.front() << ", found " << element;
  accumulated = elements.front();
  return success();
}

// A dynamic root: an i32 for each operand before it.
static LogicalResult checkRoots(const Checker &check, StringRef constraint, Value roots, size_t count) {
  auto expected = RankedTensorType::get({static_cast<int64_t>(count)}, IntegerType::get(roots.getContext(), 32));
  if (!areCompatible(roots.getType(), expected))
    return check.fail(constraint) << "the last operand must have type " << expected << ", found " << roots.getType();
  return success();
}

// ---- Operations ----

LogicalResult AllGatherOp::verify() {
  Checker check(*this);
  if (getOperands().empty() || getOperands().size() != getResults().size())
    return check.fail("C6") << "takes as many operands as it has results, at least one, found " << getOperands().size()
                            << " and " << getResults().size();
  // C2 to C4
  FailureOr<int64_t> groupSize = checkGroups(check, "C2", "C4", getReplicaGroupsAttr(), {});
  if (failed(groupSize))
    return failure();
  // C5
  if (failed(checkChannel(check, "C5", getUseGlobalDeviceIds(), getChannelHandle())))
    return failure();
  const auto dimension = static_cast<int64_t>(getAllGatherDim());
  for (auto [operand, result] : llvm::zip_equal(getOperands(), getResults())) {
    RankedTensorType from = tensorType(operand), to = tensorType(result);
    // C1
    if (failed(check.inRange("C1", "all_gather_dim", {dimension}, from.getRank())))
      return failure();
    // C6
    SmallVector<int64_t> shape(from.getShape());
    const bool known = !isDynamic(shape[dimension]) && !isDynamic(*groupSize);
    shape[dimension] = known ? shape[dimension] * *groupSize : ShapedType::kDynamic;
    if (from.getElementType() != to.getElementType() || !areShapesCompatible(shape, to.getShape()))
      return check.fail("C6") << "result must have type " << RankedTensorType::get(shape, from.getElementType())
                              << ", found " << to;
  }
  return success();
}

LogicalResult AllReduceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getOperands().empty())
    return check.fail("I1") << "takes at least one operand";
  // C1 to C3
  if (failed(checkGroups(check, "C1", "C3", adaptor.getReplicaGroupsAttr(), {/*complete=*/true, /*sameSize=*/false})))
    return failure();
  // C4
  if (failed(checkChannel(check, "C4", adaptor.getUseGlobalDeviceIds(), adaptor.getChannelHandle())))
    return failure();
  // C5
  Type element;
  if (failed(checkComputation(check, "C5", adaptor.getComputation(), adaptor.getOperands(), element)))
    return failure();
  // C6, C7
  for (Value operand : adaptor.getOperands())
    types.push_back(tensorLike(tensorType(operand), tensorType(operand).getShape(), element));
  return success();
}

LogicalResult CollectiveReduceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange operands = adaptor.getOperands();
  const bool dynamicRoot = adaptor.getHasDynamicRoot();
  if (operands.size() < (dynamicRoot ? 2 : 1))
    return check.fail("C3") << "takes at least " << (dynamicRoot ? 2 : 1) << " operand(s), found " << operands.size();
  // C1, C2
  if (failed(checkGroups(check, "C1", "C2", adaptor.getReplicaGroupsAttr(), {/*complete=*/false})))
    return failure();
  // As of the other collectives
  if (failed(checkChannel(check, "I4", adaptor.getUseGlobalDeviceIds(), adaptor.getChannelHandle())))
    return failure();
  // C3
  ValueRange reduced = operands.drop_back(dynamicRoot ? 1 : 0);
  if (dynamicRoot && failed(checkRoots(check, "C3", operands.back(), reduced.size())))
    return failure();
  // C4
  Type element;
  if (failed(checkComputation(check, "C4", adaptor.getComputation(), reduced, element)))
    return failure();
  for (Value operand : reduced)
    types.push_back(tensorLike(tensorType(operand), tensorType(operand).getShape(), element));
  return success();
}

LogicalResult ReduceScatterOp::verifyRegions() {
  Checker check(*this);
  RankedTensorType operand = tensorType(getOperand()), result = tensorType(getResult());
  const auto dimension = static_cast<int64_t>(getScatterDimension());
  // C2
  if (failed(check.inRange("C2", "scatter_dimension", {dimension}, operand.getRank())))
    return failure();
  // C3 to C5
  FailureOr<int64_t> groupSize = checkGroups(check, "C3", "C5", getReplicaGroupsAttr(), {});
  if (failed(groupSize))
    return failure();
  // C6
  if (failed(checkChannel(check, "C6", getUseGlobalDeviceIds(), getChannelHandle())))
    return failure();
  // C1
  SmallVector<int64_t> shape(operand.getShape());
  const bool known = !isDynamic(shape[dimension]) && !isDynamic(*groupSize);
  if (known && (*groupSize == 0 || shape[dimension] % *groupSize != 0))
    return check.fail("C1") << "dimension " << dimension << " of size " << shape[dimension]
                            << " must be a multiple of the size of a group, " << *groupSize;
  // C7
  Type element;
  if (failed(checkComputation(check, "C7", getComputation(), getOperation()->getOperands(), element)))
    return failure();
  // C8, C9
  shape[dimension] = known ? shape[dimension] / *groupSize : ShapedType::kDynamic;
  if (!areShapesCompatible(shape, result.getShape()))
    return check.fail("C8") << "result must have shape [" << shape << "], found " << result;
  if (result.getElementType() != element)
    return check.fail("C9") << "result must have the computation's element type " << element << ", found " << result;
  return success();
}

LogicalResult AllToAllOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  const auto split = static_cast<int64_t>(adaptor.getSplitDimension());
  const auto concat = static_cast<int64_t>(adaptor.getConcatDimension());
  const auto count = static_cast<int64_t>(adaptor.getSplitCount());
  if (adaptor.getOperands().empty())
    return check.fail("I1") << "takes at least one operand";
  // C4
  if (failed(check.atLeast("C4", "split_count", {count}, 1)))
    return failure();
  // C5 to C7
  FailureOr<int64_t> groupSize = checkGroups(check, "C5", "C7", adaptor.getReplicaGroupsAttr(), {});
  if (failed(groupSize))
    return failure();
  // C8
  if (!areSizesCompatible(*groupSize, count))
    return check.fail("C8") << "a group must have split_count = " << count << " processes, found " << *groupSize;
  for (Value operand : adaptor.getOperands()) {
    RankedTensorType type = tensorType(operand);
    // C1, C3
    if (failed(check.inRange("C1", "split_dimension", {split}, type.getRank())) ||
        failed(check.inRange("C3", "concat_dimension", {concat}, type.getRank())))
      return failure();
    // C2
    SmallVector<int64_t> shape(type.getShape());
    if (!isDynamic(shape[split]) && shape[split] % count != 0)
      return check.fail("C2") << "dimension " << split << " of size " << shape[split]
                              << " must be a multiple of split_count " << count;
    // C9
    if (!isDynamic(shape[split]))
      shape[split] /= count;
    int64_t product = 0;
    if (!isDynamic(shape[concat])) {
      if (llvm::MulOverflow(shape[concat], count, product))
        return check.fail("C9") << "the result's size does not fit 64 bits";
      shape[concat] = product;
    }
    types.push_back(tensorLike(type, shape, type.getElementType()));
  }
  return success();
}

LogicalResult CollectiveBroadcastOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange operands = adaptor.getOperands();
  // C1, C2
  if (failed(checkGroups(check, "C1", "C2", adaptor.getReplicaGroupsAttr(), {/*complete=*/false})))
    return failure();
  // C3
  const bool dynamicRoot = adaptor.getHasDynamicRoot();
  if (!dynamicRoot && operands.empty())
    return check.fail("C3") << "takes at least one operand";
  // C4
  ValueRange sent = operands.drop_back(dynamicRoot && !operands.empty() ? 1 : 0);
  if (dynamicRoot) {
    if (operands.size() < 2)
      return check.fail("C4") << "takes at least two operands, found " << operands.size();
    if (failed(checkRoots(check, "C4", operands.back(), sent.size())))
      return failure();
  }
  // C5; C6 is about values
  llvm::append_range(types, sent.getTypes());
  return success();
}

LogicalResult CollectivePermuteOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1 to C4
  if (failed(checkPairs(check, adaptor.getSourceTargetPairs())))
    return failure();
  // C5
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult CrossReplicaSumOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (failed(checkGroups(check, "", "", adaptor.getReplicaGroups(), {/*complete=*/true, /*sameSize=*/false})))
    return failure();
  types.push_back(adaptor.getOperand().getType());
  return success();
}

// ---- Host and peers ----

// Tensors, then a token.
static LogicalResult checkReceived(const Checker &check, ResultRange results) {
  // C1
  if (results.empty())
    return check.fail("C1") << "must have a result";
  // C2
  for (Type type : results.drop_back().getTypes())
    if (!isa<RankedTensorType>(type))
      return check.fail("C2") << "all results but the last must be tensors, found " << type;
  // C3
  if (!isa<TokenType>(results.back().getType()))
    return check.fail("C3") << "the last result must be a token, found " << results.back().getType();
  return success();
}

LogicalResult InfeedOp::verify() {
  Checker check(*this);
  if (failed(checkReceived(check, getResults())))
    return failure();
  if (!getLayout())
    return success();
  if (failed(check.size("", "layout", getLayout()->size(), getNumResults() - 1)))
    return failure();
  for (Attribute layout : *getLayout()) {
    auto order = dyn_cast<ArrayAttr>(layout);
    if (!order || !llvm::all_of(order, llvm::IsaPred<IntegerAttr>))
      return check.fail("") << "layout must hold a list of integers for each tensor, found " << layout;
  }
  return success();
}

LogicalResult RecvOp::verify() {
  Checker check(*this);
  // C1 to C4
  if (DenseIntElementsAttr pairs = getSourceTargetPairsAttr(); pairs && failed(checkPairs(check, pairs)))
    return failure();
  // C5: 1 is device to device, 3 host to device
  const int64_t expected = getIsHostTransfer() ? 3 : 1;
  if (getChannelHandle().getType() != expected)
    return check.fail("C5") << "channel type must be " << expected << ", found " << getChannelHandle().getType();
  return checkReceived(check, getResults());
}

LogicalResult OutfeedOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(TokenType::get(adaptor.getToken().getContext()));
  return success();
}

LogicalResult SendOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1 to C4
  if (DenseIntElementsAttr pairs = adaptor.getSourceTargetPairsAttr(); pairs && failed(checkPairs(check, pairs)))
    return failure();
  // C5: 1 is device to device, 2 device to host
  const int64_t expected = adaptor.getIsHostTransfer() ? 2 : 1;
  if (adaptor.getChannelHandle().getType() != expected)
    return check.fail("C5") << "channel type must be " << expected << ", found "
                            << adaptor.getChannelHandle().getType();
  types.push_back(TokenType::get(adaptor.getToken().getContext()));
  return success();
}

} // namespace hlo
