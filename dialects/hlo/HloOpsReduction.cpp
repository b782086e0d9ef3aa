#include "dialects/hlo/HloOpsReduction.h"

#include "dialects/hlo/HloAssembly.h"
#include "dialects/hlo/HloAttrs.h"
#include "dialects/hlo/HloOpsControlFlow.h"
#include "dialects/hlo/HloWindow.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/hlo/HloOpsReduction.cpp.inc"

namespace hlo {

void HloDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/hlo/HloOpsReduction.cpp.inc"
      >();
}

static RankedTensorType scalarOf(Type element) { return RankedTensorType::get({}, element); }

static SmallVector<Type> elementTypes(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) { return elementTypeOf(value.getType()); });
}

// Inputs of one shape with an initial value each, of the input's element type.
static LogicalResult checkInputs(const Checker &check, StringRef countConstraint, StringRef shapeConstraint,
                                 StringRef elementConstraint, size_t operandCount, ValueRange inputs,
                                 ValueRange inits) {
  if (operandCount == 0 || operandCount % 2 != 0)
    return check.fail(countConstraint) << "takes an initial value for each input, at least one, found " << operandCount
                                       << " operand(s)";
  for (auto [input, init] : llvm::zip_equal(inputs, inits)) {
    if (!areShapesCompatible(tensorType(inputs.front()).getShape(), tensorType(input).getShape()))
      return check.fail(shapeConstraint) << "inputs must have the same shape, found " << inputs.front().getType()
                                         << " and " << input.getType();
    if (tensorType(init).getRank() != 0)
      return check.fail("I2") << "init_values must be scalars, found " << init.getType();
    if (failed(check.sameElementType(elementConstraint, ValueRange{input, init})))
      return failure();
  }
  return success();
}

// The shape that inputs of compatible shapes have together.
static SmallVector<int64_t> commonShape(ValueRange inputs) {
  SmallVector<int64_t> shape(tensorType(inputs.front()).getShape());
  for (Value input : inputs)
    for (auto [size, other] : llvm::zip_equal(shape, tensorType(input).getShape()))
      if (isDynamic(size))
        size = other;
  return shape;
}

// ---- map ----

LogicalResult MapOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  // C2
  if (inputs.empty())
    return check.fail("C2") << "takes at least one input";
  // C1
  for (Value input : inputs)
    if (!areShapesCompatible(tensorType(inputs.front()).getShape(), tensorType(input).getShape()))
      return check.fail("C1") << "inputs must have the same shape, found " << inputs.front().getType() << " and "
                              << input.getType();
  // C3
  const int64_t rank = tensorType(inputs.front()).getRank();
  if (!llvm::equal(adaptor.getDimensions(), llvm::seq<int64_t>(0, rank)))
    return check.fail("C3") << "dimensions must be 0 to " << rank << " in order, found [" << adaptor.getDimensions()
                            << "]";
  // C4
  SmallVector<Type> arguments =
      llvm::map_to_vector(elementTypes(inputs), [](Type type) -> Type { return scalarOf(type); });
  std::optional<SmallVector<Type>> returned = returnedTypes(&adaptor.getComputation());
  Type result = returned && returned->size() == 1 ? returned->front() : arguments.front();
  auto scalar = dyn_cast<RankedTensorType>(result);
  if (!scalar || scalar.getRank() != 0)
    return check.fail("C4") << "the computation must return a scalar, found " << result;
  if (failed(checkSignature(check, "C4", "the computation", adaptor.getComputation(), arguments, {result})))
    return failure();
  types.push_back(RankedTensorType::get(commonShape(inputs), scalar.getElementType()));
  return success();
}

// ---- reduce ----

LogicalResult ReduceOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  // C1 to C3
  if (failed(checkInputs(check, "C3", "C1", "C2", adaptor.getOperands().size(), inputs, adaptor.getInitValues())))
    return failure();
  // C4, C5
  ArrayRef<int64_t> dimensions = adaptor.getDimensions();
  if (failed(check.inRange("C4", "dimensions", dimensions, tensorType(inputs.front()).getRank())) ||
      failed(check.unique("C5", "dimensions", dimensions)))
    return failure();
  // C6
  SmallVector<Type> accumulated;
  if (failed(checkReducer(check, "C6", adaptor.getBody(), elementTypes(inputs), accumulated)))
    return failure();
  // C7, C8
  SmallVector<int64_t> shape;
  for (auto [dimension, size] : llvm::enumerate(commonShape(inputs)))
    if (!llvm::is_contained(dimensions, dimension))
      shape.push_back(size);
  for (Type element : accumulated)
    types.push_back(RankedTensorType::get(shape, element));
  return success();
}

// The operation of a body that only combines its two arguments, in order, by one operation without attributes. The
// short form gives the body the locations of the reduction.
static Operation *plainCombiner(ReduceOp op) {
  if (op.getInputs().size() != 1 || op.getBody().empty())
    return nullptr;
  Block &body = op.getBody().front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2))
    return nullptr;
  Operation &combiner = body.front();
  Operation &terminator = body.back();
  const bool plain = isa<HloDialect>(combiner.getDialect()) && isa<ReturnOp>(terminator) &&
                     combiner.getNumOperands() == 2 && combiner.getNumResults() == 1 && combiner.getNumRegions() == 0 &&
                     combiner.getAttrDictionary().empty() && terminator.getAttrDictionary().empty() &&
                     combiner.getOperand(0) == body.getArgument(0) && combiner.getOperand(1) == body.getArgument(1) &&
                     terminator.getNumOperands() == 1 && terminator.getOperand(0) == combiner.getResult(0);
  const bool oneType = plain && body.getArgument(0).getType() == body.getArgument(1).getType() &&
                       combiner.getResult(0).getType() == body.getArgument(0).getType() &&
                       body.getArgument(0).getType() == op.getInitValues().front().getType();
  return oneType ? &combiner : nullptr;
}

void ReduceOp::print(OpAsmPrinter &printer) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), printer, [&](auto pair) {
    printer << '(' << std::get<0>(pair) << " init: " << std::get<1>(pair) << ')';
  });
  Operation *combiner = plainCombiner(*this);
  if (combiner)
    printer << " applies " << combiner->getName();
  printer << " across dimensions = ";
  printDims(printer, getDimensions());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (combiner)
    return;
  printer.printNewline();
  printer << " reducer";
  // Arguments come in pairs: what is accumulated, and the element.
  Block &body = getBody().front();
  const unsigned count = body.getNumArguments() / 2;
  for (unsigned i = 0; i < count; ++i) {
    printer << '(';
    printer.printRegionArgument(body.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(body.getArgument(i + count));
    printer << ") ";
  }
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &state) {
  const llvm::SMLoc start = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) || parser.parseKeyword("init") ||
                   parser.parseColon() || parser.parseOperand(inits.emplace_back()) || parser.parseRParen());
  };
  if (parser.parseCommaSeparatedList(parsePair))
    return failure();
  std::optional<OperationName> combiner;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    combiner = *name;
  }
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual())
    return failure();
  FailureOr<SmallVector<int64_t>> dimensions = parseDims(parser);
  FunctionType type;
  if (failed(dimensions) || parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parser.parseType(type))
    return failure();
  state.addAttribute("dimensions", parser.getBuilder().getDenseI64ArrayAttr(*dimensions));
  state.addTypes(type.getResults());
  inputs.append(inits);
  if (parser.resolveOperands(inputs, type.getInputs(), start, state.operands))
    return failure();
  Region *body = state.addRegion();
  if (!combiner) {
    SmallVector<OpAsmParser::Argument> accumulators, elements;
    if (parser.parseKeyword("reducer"))
      return failure();
    while (succeeded(parser.parseOptionalLParen()))
      if (parser.parseArgument(accumulators.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
          parser.parseArgument(elements.emplace_back(), /*allowType=*/true) || parser.parseRParen())
        return failure();
    accumulators.append(elements);
    return parser.parseRegion(*body, accumulators);
  }
  if (!combiner->isRegistered() || combiner->getDialectNamespace() != HloDialect::getDialectNamespace())
    return parser.emitError(start, "reduces by an operation of the hlo dialect, found '") << *combiner << "'";
  if (inits.size() != 1)
    return parser.emitError(start, "an operation combines one input, found ") << inits.size();
  // The body's locations are the reduction's own, which follows: the parser patches it in once known.
  std::optional<Location> location;
  if (parser.parseOptionalLocationSpecifier(location))
    return failure();
  if (location)
    state.location = *location;
  Type scalar = type.getInputs().back();
  OpBuilder builder(parser.getContext());
  Block *block = builder.createBlock(body);
  block->addArguments({scalar, scalar}, {state.location, state.location});
  OperationState inner(state.location, *combiner);
  inner.addOperands(block->getArguments());
  inner.addTypes(scalar);
  Operation *combined = builder.create(inner);
  OperationState terminator(state.location, ReturnOp::getOperationName());
  terminator.addOperands(combined->getResults());
  builder.create(terminator);
  return success();
}

// ---- Windows ----

LogicalResult ReduceWindowOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  // C1 to C3
  if (failed(checkInputs(check, "C1", "C2", "C3", adaptor.getOperands().size(), inputs, adaptor.getInitValues())))
    return failure();
  // C4 to C12
  FailureOr<SmallVector<WindowDimension>> window =
      checkWindow(check, tensorType(inputs.front()).getRank(),
                  {{"window_dimensions", adaptor.getWindowDimensions(), "C4", "C5"},
                   {"window_strides", adaptor.getWindowStrides(), "C6", "C7"},
                   {"base_dilations", adaptor.getBaseDilations(), "C8", "C9"},
                   {"window_dilations", adaptor.getWindowDilations(), "C10", "C11"},
                   adaptor.getPaddingAttr(),
                   "C12"});
  if (failed(window))
    return failure();
  // C13
  SmallVector<Type> accumulated;
  if (failed(checkReducer(check, "C13", adaptor.getBody(), elementTypes(inputs), accumulated)))
    return failure();
  // C14 to C16
  SmallVector<int64_t> shape;
  for (auto [size, dimension] : llvm::zip_equal(commonShape(inputs), *window))
    shape.push_back(windowCount(size, dimension));
  for (Type element : accumulated)
    types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult SelectAndScatterOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand()), source = tensorType(adaptor.getSource());
  RankedTensorType init = tensorType(adaptor.getInitValue());
  // C1
  if (failed(check.sameElementType("C1", ValueRange{adaptor.getOperand(), adaptor.getSource()})))
    return failure();
  // C3
  if (init.getRank() != 0)
    return check.fail("I3") << "init_value must be a scalar, found " << init;
  if (failed(check.sameElementType("C3", ValueRange{adaptor.getOperand(), adaptor.getInitValue()})))
    return failure();
  // C4 to C8
  if (!adaptor.getWindowDimensions() && operand.getRank() != 0)
    return check.fail("C4") << "window_dimensions must have " << operand.getRank() << " element(s), found none";
  FailureOr<SmallVector<WindowDimension>> window =
      checkWindow(check, operand.getRank(),
                  {{"window_dimensions", adaptor.getWindowDimensions(), "C4", "C5"},
                   {"window_strides", adaptor.getWindowStrides(), "C6", "C7"},
                   {},
                   {},
                   adaptor.getPaddingAttr(),
                   "C8"});
  if (failed(window))
    return failure();
  // C2
  SmallVector<int64_t> counts;
  for (auto [size, dimension] : llvm::zip_equal(operand.getShape(), *window))
    counts.push_back(windowCount(size, dimension));
  if (!areShapesCompatible(counts, source.getShape()))
    return check.fail("C2") << "source must have an element for each window, shape [" << counts << "], found "
                            << source;
  // C9
  Type scalar = scalarOf(operand.getElementType());
  Type pred = scalarOf(IntegerType::get(operand.getContext(), 1));
  if (failed(checkSignature(check, "C9", "select", adaptor.getSelect(), {scalar, scalar}, {pred})))
    return failure();
  // C10
  SmallVector<Type> accumulated;
  if (failed(checkReducer(check, "C10", adaptor.getScatter(), {operand.getElementType()}, accumulated)))
    return failure();
  // C11, C12
  types.push_back(tensorLike(operand, operand.getShape(), accumulated.front()));
  return success();
}

// ---- sort, top_k, scan ----

LogicalResult SortOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  // C1
  if (inputs.empty())
    return check.fail("C1") << "takes at least one input";
  // C3
  for (Value input : inputs)
    if (!areShapesCompatible(tensorType(inputs.front()).getShape(), tensorType(input).getShape()))
      return check.fail("C3") << "inputs must have the same shape, found " << inputs.front().getType() << " and "
                              << input.getType();
  // C4
  const int64_t rank = tensorType(inputs.front()).getRank();
  const auto dimension = static_cast<int64_t>(adaptor.getDimension());
  if (dimension < -rank || dimension >= rank)
    return check.fail("C4") << "dimension must be in [" << -rank << ", " << rank << "), found " << dimension;
  // C5
  SmallVector<Type> arguments;
  for (Type element : elementTypes(inputs))
    arguments.append(2, scalarOf(element));
  Type pred = scalarOf(IntegerType::get(inputs.front().getContext(), 1));
  if (failed(checkSignature(check, "C5", "the comparator", adaptor.getComparator(), arguments, {pred})))
    return failure();
  // C2
  llvm::append_range(types, inputs.getTypes());
  return success();
}

LogicalResult TopKOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  // C1
  const auto k = static_cast<int64_t>(adaptor.getK());
  if (operand.getRank() < 1)
    return check.fail("C1") << "operand must have a dimension, found " << operand;
  const int64_t last = operand.getShape().back();
  if (k < 0 || (!isDynamic(last) && k > last))
    return check.fail("C1") << "k must be in [0, " << last << "], found " << k;
  // C2
  SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(operand.getContext(), 32)));
  return success();
}

LogicalResult ScanOp::inferTypes(const Checker &check, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs(), inits = adaptor.getInits();
  const auto dimension = static_cast<int64_t>(adaptor.getDimension());
  // C1
  std::optional<int64_t> length;
  if (std::optional<uint64_t> given = adaptor.getScanDimSize())
    length = static_cast<int64_t>(*given);
  SmallVector<Type> arguments;
  for (Value input : inputs) {
    RankedTensorType type = tensorType(input);
    if (failed(check.inRange("C1", "dimension", {dimension}, type.getRank())))
      return failure();
    const int64_t size = type.getDimSize(dimension);
    if (length && !areSizesCompatible(*length, size))
      return check.fail("C2") << "inputs must have the same size in dimension " << dimension << ", found " << *length
                              << " and " << size;
    if (!length || isDynamic(*length))
      length = size;
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dimension);
    arguments.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  // C2
  if (!length)
    return check.fail("C2") << "a scan without inputs needs scan_dim_size";
  // C3, C4: the body takes a slice of each input and the carries, and gives a slice of each output and the carries
  llvm::append_range(arguments, inits.getTypes());
  std::optional<SmallVector<Type>> returned = returnedTypes(&adaptor.getBody());
  SmallVector<Type> results = returned.value_or(SmallVector<Type>(inits.getTypes()));
  if (results.size() < inits.size())
    return check.fail("C4") << "the body must return " << inits.size() << " carries after the outputs, found "
                            << results.size() << " value(s)";
  const size_t outputs = results.size() - inits.size();
  for (auto [index, init] : llvm::enumerate(inits))
    results[outputs + index] = init.getType();
  if (failed(checkSignature(check, "C3", "the body", adaptor.getBody(), arguments, results)))
    return failure();
  // C5
  for (Type output : ArrayRef<Type>(results).take_front(outputs)) {
    auto type = dyn_cast<RankedTensorType>(output);
    if (!type || dimension > type.getRank())
      return check.fail("C5") << "an output must be a tensor of at least rank " << dimension << ", found " << output;
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + dimension, *length);
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  llvm::append_range(types, inits.getTypes());
  return success();
}

} // namespace hlo
