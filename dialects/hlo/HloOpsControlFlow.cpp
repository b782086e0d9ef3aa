#include "dialects/hlo/HloOpsControlFlow.h"

#include "dialects/hlo/HloAssembly.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsControlFlow.cpp.inc"

namespace hlo {

void HloDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsControlFlow.cpp.inc"
      >();
}

// ---- if, case ----

// Branches take nothing and return the same types; those are the results'.
static LogicalResult inferBranches(const Checker &check, StringRef inputConstraint, StringRef outputConstraint,
                                   ArrayRef<Region *> branches, SmallVectorImpl<Type> &types) {
  std::optional<SmallVector<Type>> first;
  for (auto [index, branch] : llvm::enumerate(branches)) {
    std::optional<SmallVector<Type>> returned = returnedTypes(branch);
    if (!returned)
      continue;
    if (branch->getNumArguments() != 0)
      return check.fail(inputConstraint) << "branch #" << index << " must take no arguments, found "
                                         << branch->getNumArguments();
    if (!first)
      first = returned;
    else if (!areCompatible(TypeRange(*first), TypeRange(*returned)))
      return check.fail(outputConstraint) << "branches must return the same types, found (" << TypeRange(*first)
                                          << ") and (" << TypeRange(*returned) << ")";
  }
  if (first)
    types.append(*first);
  return success();
}

LogicalResult IfOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferBranches(check, "C1", "C2", {&adaptor.getTrueBranch(), &adaptor.getFalseBranch()}, types);
}

LogicalResult CaseOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Region *> branches;
  for (Region *branch : adaptor.getBranches())
    branches.push_back(branch);
  // C1
  if (branches.empty())
    return check.fail("C1") << "takes at least one branch";
  // C2 to C4
  return inferBranches(check, "C2", "C3", branches, types);
}

// ---- while ----

LogicalResult WhileOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  TypeRange carried = adaptor.getOperand().getTypes();
  // C1
  if (!adaptor.getCond().empty()) {
    Type pred = RankedTensorType::get({}, IntegerType::get(adaptor.getCond().getContext(), 1));
    if (failed(checkSignature(check, "C1", "cond", adaptor.getCond(), carried, {pred})))
      return failure();
  }
  // C2
  if (failed(checkSignature(check, "C2", "body", adaptor.getBody(), carried, carried)))
    return failure();
  // C3
  llvm::append_range(types, carried);
  return success();
}

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}

// Two forms: "(%iterArg = %init, ...) : T, ..." when a carried value has one type throughout, and
// "(%init, ...) : (T, ...) -> (R, ...)" with block arguments in the regions when types differ in what they know of
// sizes.
void WhileOp::print(OpAsmPrinter &printer) {
  TypeRange types = getOperand().getTypes();
  const bool oneType = llvm::equal(types, getResults().getTypes()) &&
                       llvm::equal(types, getCond().getArgumentTypes()) &&
                       llvm::equal(types, getBody().getArgumentTypes());
  if (oneType) {
    printer << '(';
    llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperand()), printer,
                          [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
    printer << ')';
    if (!types.empty())
      printer << " : " << types;
  } else {
    printer << '(' << getOperand() << ") : ";
    printer.printFunctionalType(*this);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/!oneType);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/!oneType);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &state) {
  const llvm::SMLoc start = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parsePair = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand first;
    if (parser.parseOperand(first, /*allowResultNumber=*/true))
      return failure();
    if (first.number != 0 || failed(parser.parseOptionalEqual())) {
      operands.push_back(first);
      return success();
    }
    arguments.emplace_back().ssaName = first;
    return parser.parseOperand(operands.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parsePair))
    return failure();
  if (!arguments.empty() && arguments.size() != operands.size())
    return parser.emitError(start, "expected a block argument for all operands or for none");
  SmallVector<Type> types;
  if (!operands.empty()) {
    if (parser.parseColon())
      return failure();
    if (arguments.empty()) {
      FunctionType type;
      if (parser.parseType(type))
        return failure();
      llvm::append_range(types, type.getInputs());
      state.addTypes(type.getResults());
    } else {
      if (parser.parseTypeList(types))
        return failure();
      state.addTypes(types);
    }
  }
  if (parser.resolveOperands(operands, types, start, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, ArrayRef<Type>(types).take_front(arguments.size())))
    argument.type = type;
  Region *cond = state.addRegion(), *body = state.addRegion();
  return failure(parser.parseKeyword("cond") || parser.parseRegion(*cond, arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*body, arguments));
}

// ---- fusion ----

LogicalResult FusionOp::verify() {
  if (getKind().empty())
    return Checker(*this).fail("") << "kind must not be empty";
  return success();
}

LogicalResult FusionOp::verifyRegions() {
  return checkSignature(Checker(*this), "", "the fusion", getBody(), getInputs().getTypes(), getResults().getTypes());
}

// ---- composite, custom_call ----

LogicalResult CompositeOp::verify() {
  // C1
  auto isNamespaced = [](StringRef name) {
    auto [space, rest] = name.split('.');
    auto isWord = [](StringRef word) {
      return !word.empty() && (llvm::isAlpha(word.front()) || word.front() == '_') && llvm::all_of(word, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '-';
      });
    };
    return isWord(space) && isWord(rest);
  };
  if (!isNamespaced(getName()))
    return Checker(*this).fail("C1") << "name must be a namespace, a dot and a name, found '" << getName() << "'";
  return success();
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &tables) {
  Checker check(*this);
  // C2
  auto function = tables.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getDecompositionAttr());
  if (!function)
    return check.fail("C2") << "no function is named @" << getDecomposition();
  // C3, C4
  if (!areCompatible(TypeRange(getInputs()), TypeRange(function.getArgumentTypes())))
    return check.fail("C3") << "inputs must have the types of the decomposition's arguments, found ("
                            << getInputs().getTypes() << ") and (" << function.getArgumentTypes() << ")";
  if (!areCompatible(TypeRange(getResults()), TypeRange(function.getResultTypes())))
    return check.fail("C4") << "results must have the types of the decomposition's results, found ("
                            << getResults().getTypes() << ") and (" << function.getResultTypes() << ")";
  return success();
}

// One layout a value, a permutation of its dimensions when it is a tensor, empty otherwise.
static LogicalResult checkLayouts(const Checker &check, StringRef name, ArrayAttr layouts, TypeRange types) {
  if (layouts.size() != types.size())
    return check.fail("") << name << " must have " << types.size() << " layout(s), found " << layouts.size();
  for (auto [attribute, type] : llvm::zip_equal(layouts, types)) {
    auto layout = cast<DenseIntElementsAttr>(attribute);
    auto shaped = dyn_cast<ShapedType>(type);
    if (shaped && !shaped.hasRank())
      continue;
    const int64_t rank = shaped ? shaped.getRank() : 0;
    SmallVector<int64_t> order;
    for (APInt dimension : layout.getValues<APInt>())
      order.push_back(dimension.getSExtValue());
    SmallVector<int64_t> sorted(order);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
      return check.fail("") << name << " must be permutations of the dimensions, found [" << order << "] for " << type;
  }
  return success();
}

// The type at a path of tuple indices, or nothing.
static Type typeAt(Type type, ArrayRef<int64_t> path) {
  for (int64_t index : path) {
    auto tuple = dyn_cast_if_present<TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size()))
      return {};
    type = tuple.getType(index);
  }
  return type;
}

// Typed calls take their options as a dictionary, older conventions as a string.
static LogicalResult checkBackendConfig(const Checker &check, CustomCallApiVersion version,
                                        std::optional<Attribute> config) {
  if (!config)
    return success();
  const bool typed = version == CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (typed == isa<DictionaryAttr>(*config))
    return success();
  return check.fail("") << "backend_config of api_version " << stringifyCustomCallApiVersion(version) << " must be a "
                        << (typed ? "dictionary" : "string") << ", found " << *config;
}

LogicalResult CustomCallOp::verify() {
  Checker check(*this);
  if (failed(checkBackendConfig(check, getApiVersion(), getBackendConfig())))
    return failure();
  if (getOperandLayouts().has_value() != getResultLayouts().has_value())
    return check.fail("") << "operand_layouts and result_layouts go together";
  if (getOperandLayouts()) {
    TypeRange results(getResults().getTypes());
    // The layouts of a tuple are those of its elements.
    SmallVector<Type> elements(results);
    if (results.size() == 1)
      if (auto tuple = dyn_cast<TupleType>(results.front()))
        elements.assign(tuple.begin(), tuple.end());
    if (failed(checkLayouts(check, "operand_layouts", *getOperandLayouts(), getInputs().getTypes())) ||
        failed(checkLayouts(check, "result_layouts", *getResultLayouts(), elements)))
      return failure();
  }
  for (auto alias : getOutputOperandAliases().getAsRange<OutputOperandAliasAttr>()) {
    const int64_t index = alias.getOperandIndex();
    if (index < 0 || index >= static_cast<int64_t>(getInputs().size()))
      return check.fail("") << "output_operand_aliases must name an operand, found " << index;
    Type operand = typeAt(getInputs()[index].getType(), alias.getOperandTupleIndices());
    SmallVector<Type> results(getResults().getTypes());
    // Several results count as a tuple of them.
    Type whole = results.size() == 1 ? results.front() : Type(TupleType::get(getContext(), results));
    Type output = typeAt(whole, alias.getOutputTupleIndices());
    if (!operand || !output || !areCompatible(operand, output))
      return check.fail("") << "an operand and the result that shares its storage must have the same type, found "
                            << alias;
  }
  return success();
}

void CustomCallOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!getHasSideEffect() && !llvm::any_of((*this)->getOperandTypes(), llvm::IsaPred<MemRefType, TokenType>))
    return;
  effects.emplace_back(MemoryEffects::Allocate::get());
  effects.emplace_back(MemoryEffects::Free::get());
  effects.emplace_back(MemoryEffects::Write::get());
  effects.emplace_back(MemoryEffects::Read::get());
}

// ---- Tuples, tokens, barriers ----

LogicalResult OptimizationBarrierOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  llvm::append_range(types, adaptor.getOperands().getTypes());
  return success();
}

LogicalResult TupleOp::inferTypes(const Checker &, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  // C1
  SmallVector<Type> elements(adaptor.getVal().getTypes());
  // A context comes from a type; a tuple of nothing has none to take.
  if (elements.empty())
    return failure();
  types.push_back(TupleType::get(elements.front().getContext(), elements));
  return success();
}

LogicalResult GetTupleElementOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto tuple = dyn_cast<TupleType>(adaptor.getOperand().getType());
  if (!tuple)
    return check.fail("I1") << "operand must be a tuple, found " << adaptor.getOperand().getType();
  // C1
  if (failed(
          check.inRange("C1", "index", {static_cast<int64_t>(static_cast<int32_t>(adaptor.getIndex()))}, tuple.size())))
    return failure();
  // C2
  types.push_back(tuple.getType(adaptor.getIndex()));
  return success();
}

// ---- async ----

LogicalResult AsyncStartOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  std::optional<SmallVector<Type>> returned = returnedTypes(&adaptor.getBody());
  if (!returned)
    return check.fail("C1") << "body must contain an operation and a return";
  Block &body = adaptor.getBody().front();
  // C1
  if (!llvm::hasNItems(body, 2))
    return check.fail("C1") << "body must contain one operation and a return";
  Operation &operation = body.front();
  // C2
  static constexpr StringRef allowed[] = {
      "hlo.all_reduce",          "hlo.all_gather",           "hlo.all_to_all", "hlo.collective_permute",
      "hlo.reduce_scatter",      "hlo.collective_broadcast", "hlo.slice",      "hlo.dynamic_slice",
      "hlo.dynamic_update_slice"};
  if (!llvm::is_contained(allowed, operation.getName().getStringRef()))
    return check.fail("C2") << "body must hold a collective operation or a slice, found '" << operation.getName()
                            << "'";
  // C3
  if (!areCompatible(TypeRange(adaptor.getOperands()), TypeRange(adaptor.getBody().getArgumentTypes())) ||
      !llvm::equal(operation.getOperands(), adaptor.getBody().getArguments()))
    return check.fail("C3") << "the operation in body must take the operands, in order";
  // C4
  types.push_back(FutureType::get(operation.getContext(), *returned));
  return success();
}

LogicalResult AsyncDoneOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto future = dyn_cast<FutureType>(adaptor.getOperand().getType());
  if (!future)
    return check.fail("I1") << "operand must be a future, found " << adaptor.getOperand().getType();
  // C1
  llvm::append_range(types, future.getTypes());
  return success();
}

} // namespace hlo
