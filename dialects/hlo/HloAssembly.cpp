#include "dialects/hlo/HloAssembly.h"

#include "dialects/hlo/HloAttrs.h"

using namespace mlir;

namespace hlo {

// ---- Types ----

void printSameTypes(OpAsmPrinter &printer, TypeRange operands, Type result) {
  if (llvm::all_of(operands, [&](Type type) { return type == result; }))
    printer.printType(result);
  else
    printer.printFunctionalType(operands, TypeRange(result));
}

// Splits "(a, b) -> c" over operands and result; any other type is passed on to `otherwise`.
static ParseResult parseFunctionOr(OpAsmParser &parser, ArrayRef<Type *> operands, Type &result,
                                   function_ref<ParseResult(Type)> otherwise) {
  const llvm::SMLoc location = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function)
    return otherwise(type);
  if (function.getNumInputs() != operands.size() || function.getNumResults() != 1)
    return parser.emitError(location, "expected ") << operands.size() << " operand type(s) and 1 result type";
  for (auto [operand, input] : llvm::zip_equal(operands, function.getInputs()))
    *operand = input;
  result = function.getResult(0);
  return success();
}

ParseResult parseSameTypes(OpAsmParser &parser, ArrayRef<Type *> operands, Type &result) {
  return parseFunctionOr(parser, operands, result, [&](Type type) -> ParseResult {
    for (Type *operand : operands)
      *operand = type;
    result = type;
    return success();
  });
}

void printComplexTypes(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs, Type result) {
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (complex && lhs == rhs && lhs == tensor.clone(complex.getElementType()))
    printer.printType(result);
  else
    printer.printFunctionalType(TypeRange{lhs, rhs}, TypeRange(result));
}

ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  const llvm::SMLoc location = parser.getCurrentLocation();
  return parseFunctionOr(parser, {&lhs, &rhs}, result, [&](Type type) -> ParseResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
    if (!complex)
      return parser.emitError(location, "expected a tensor of complex numbers, found ") << type;
    lhs = rhs = tensor.clone(complex.getElementType());
    result = type;
    return success();
  });
}

void printSelectTypes(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << pred << ", " << result;
  else
    printer.printFunctionalType(TypeRange{pred, onTrue, onFalse}, TypeRange(result));
}

ParseResult parseSelectTypes(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse, Type &result) {
  return parseFunctionOr(parser, {&pred, &onTrue, &onFalse}, result, [&](Type type) -> ParseResult {
    pred = type;
    if (parser.parseComma() || parser.parseType(result))
      return failure();
    onTrue = onFalse = result;
    return success();
  });
}

void printPairwiseTypes(OpAsmPrinter &printer, Operation *, TypeRange, TypeRange results) {
  llvm::interleaveComma(results, printer);
}

ParseResult parsePairwiseTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands, SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void printTupleTypes(OpAsmPrinter &printer, Operation *, TypeRange operands, Type result) {
  auto tuple = dyn_cast<TupleType>(result);
  if (tuple && TypeRange(tuple.getTypes()) == operands)
    printer.printType(result);
  else
    printer.printFunctionalType(operands, TypeRange(result));
}

ParseResult parseTupleTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands, Type &result) {
  const llvm::SMLoc location = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto tuple = dyn_cast<TupleType>(type)) {
    llvm::append_range(operands, tuple.getTypes());
    result = type;
    return success();
  }
  auto function = dyn_cast<FunctionType>(type);
  if (!function || function.getNumResults() != 1)
    return parser.emitError(location, "expected a tuple type, found ") << type;
  llvm::append_range(operands, function.getInputs());
  result = function.getResult(0);
  return success();
}

void printVariadicTypes(OpAsmPrinter &printer, Operation *, OperandRange, TypeRange types, Type result) {
  if (llvm::all_of(types, [&](Type type) { return type == result; }))
    printer.printType(result);
  else
    printer.printFunctionalType(types, TypeRange(result));
}

ParseResult parseVariadicTypes(OpAsmParser &parser, ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                               SmallVectorImpl<Type> &types, Type &result) {
  types.resize(operands.size());
  SmallVector<Type *> targets;
  for (Type &type : types)
    targets.push_back(&type);
  return parseSameTypes(parser, targets, result);
}

// ---- Operands and attributes ----

void printOperandsThenComma(OpAsmPrinter &printer, Operation *, OperandRange operands) {
  for (Value operand : operands)
    printer << operand << ", ";
}

ParseResult parseOperandsThenComma(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printExponentMantissa(OpAsmPrinter &printer, Operation *, IntegerAttr exponent, IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent, IntegerAttr &mantissa) {
  const llvm::SMLoc location = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  int32_t exponentBits = 0, mantissaBits = 0;
  auto [left, right] = format.drop_front().split('m');
  if (!format.starts_with("e") || left.getAsInteger(10, exponentBits) || right.getAsInteger(10, mantissaBits))
    return parser.emitError(location, "expected a float format such as e5m10, found '") << format << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()), printer,
                        [&](auto range) {
                          auto [start, limit, stride] = range;
                          printer << start << ':' << limit;
                          if (stride != 1)
                            printer << ':' << stride;
                        });
  printer << ']';
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() || parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    if (failed(parser.parseOptionalColon()))
      return success();
    return parser.parseInteger(stride.back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void printDotDimensions(OpAsmPrinter &printer, Operation *, DotDimensionNumbersAttr dims) {
  auto print = [&](StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    printer << name << " = ";
    printDims(printer, lhs);
    printer << " x ";
    printDims(printer, rhs);
  };
  if (!dims.getLhsBatchingDimensions().empty() || !dims.getRhsBatchingDimensions().empty()) {
    print("batching_dims", dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions());
    printer << ", ";
  }
  print("contracting_dims", dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions());
}

ParseResult parseDotDimensions(OpAsmParser &parser, DotDimensionNumbersAttr &dims) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  auto parsePair = [&](SmallVector<int64_t> &lhs, SmallVector<int64_t> &rhs) -> ParseResult {
    if (parser.parseEqual())
      return failure();
    FailureOr<SmallVector<int64_t>> first = parseDims(parser);
    if (failed(first) || parser.parseKeyword("x"))
      return failure();
    FailureOr<SmallVector<int64_t>> second = parseDims(parser);
    if (failed(second))
      return failure();
    lhs = *first;
    rhs = *second;
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("batching_dims")))
    if (parsePair(lhsBatch, rhsBatch) || parser.parseComma())
      return failure();
  if (parser.parseKeyword("contracting_dims") || parsePair(lhsContract, rhsContract))
    return failure();
  dims = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatch, rhsBatch, lhsContract, rhsContract);
  return success();
}

static ParseResult parsePrecisionList(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> all;
  auto parseOne = [&]() -> ParseResult {
    const llvm::SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Precision> value = symbolizePrecision(name);
    if (!value)
      return parser.emitError(location, "expected DEFAULT, HIGH or HIGHEST, found '") << name << "'";
    all.push_back(PrecisionAttr::get(parser.getContext(), *value));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  precision = parser.getBuilder().getArrayAttr(all);
  return success();
}

void printPrecision(OpAsmPrinter &printer, Operation *, ArrayAttr precision) {
  if (!precision)
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer,
                        [&](PrecisionAttr attr) { printer << stringifyPrecision(attr.getValue()); });
  printer << ']';
}

ParseResult parsePrecision(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") || parsePrecisionList(parser, precision));
}

void printPrecisionAndAlgorithm(OpAsmPrinter &printer, Operation *op, ArrayAttr precision, DotAlgorithmAttr algorithm) {
  printPrecision(printer, op, precision);
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

ParseResult parsePrecisionAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision, DotAlgorithmAttr &algorithm) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    if (parsePrecisionList(parser, precision))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  return failure(parser.parseKeyword("algorithm") || parser.parseEqual() ||
                 parser.parseCustomAttributeWithFallback(algorithm));
}

void printConvDimensions(OpAsmPrinter &printer, Operation *, ConvDimensionNumbersAttr dims) {
  printConvBody(printer, dims);
}

ParseResult parseConvDimensions(OpAsmParser &parser, ConvDimensionNumbersAttr &dims) {
  return parseConvBody(parser, dims);
}

void printWindowAttributes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                           DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto begin = [&](StringRef name) {
    printer << separator << name << " = ";
    separator = ", ";
  };
  if (strides) {
    begin("stride");
    printDims(printer, strides);
  }
  if (padding) {
    begin("pad");
    printer << '[';
    SmallVector<int64_t> all(padding.getValues<int64_t>());
    for (size_t i = 0; i + 1 < all.size(); i += 2)
      printer << (i ? ", [" : "[") << all[i] << ", " << all[i + 1] << ']';
    printer << ']';
  }
  if (lhsDilation) {
    begin("lhs_dilate");
    printDims(printer, lhsDilation);
  }
  if (rhsDilation) {
    begin("rhs_dilate");
    printDims(printer, rhsDilation);
  }
  if (reversal) {
    begin("reverse");
    printer << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer, [&](bool value) { printer << (value ? "true" : "false"); });
    printer << ']';
  }
}

static ParseResult parsePadding(OpAsmParser &parser, DenseIntElementsAttr &padding) {
  SmallVector<int64_t> all;
  auto parsePair = [&]() -> ParseResult {
    const llvm::SMLoc location = parser.getCurrentLocation();
    FailureOr<SmallVector<int64_t>> pair = parseDims(parser);
    if (failed(pair))
      return failure();
    if (pair->size() != 2)
      return parser.emitError(location, "expected low and high padding");
    all.append(*pair);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePair))
    return failure();
  const auto rows = static_cast<int64_t>(all.size() / 2);
  auto type = RankedTensorType::get({rows, 2}, parser.getBuilder().getI64Type());
  padding = DenseIntElementsAttr::get(type, all);
  return success();
}

static ParseResult parseReversal(OpAsmParser &parser, DenseBoolArrayAttr &reversal) {
  SmallVector<bool> all;
  auto parseOne = [&]() -> ParseResult {
    const llvm::SMLoc location = parser.getCurrentLocation();
    StringRef word;
    int64_t number = 0;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      all.push_back(number != 0);
      return *isNumber;
    }
    if (parser.parseKeyword(&word))
      return failure();
    if (word != "true" && word != "false")
      return parser.emitError(location, "expected true or false");
    all.push_back(word == "true");
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  reversal = parser.getBuilder().getDenseBoolArrayAttr(all);
  return success();
}

ParseResult parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                                  DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation,
                                  DenseBoolArrayAttr &reversal) {
  auto parseDimsInto = [&](DenseI64ArrayAttr &attr) -> ParseResult {
    FailureOr<SmallVector<int64_t>> dims = parseDims(parser);
    if (failed(dims))
      return failure();
    attr = parser.getBuilder().getDenseI64ArrayAttr(*dims);
    return success();
  };
  do {
    const llvm::SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name, {"stride", "pad", "lhs_dilate", "rhs_dilate", "reverse"})))
      return success();
    if (parser.parseEqual())
      return failure();
    const bool again = (name == "stride" && strides) || (name == "pad" && padding) ||
                       (name == "lhs_dilate" && lhsDilation) || (name == "rhs_dilate" && rhsDilation) ||
                       (name == "reverse" && reversal);
    if (again)
      return parser.emitError(location, "'") << name << "' is given twice";
    ParseResult parsed = name == "stride"       ? parseDimsInto(strides)
                         : name == "pad"        ? parsePadding(parser, padding)
                         : name == "lhs_dilate" ? parseDimsInto(lhsDilation)
                         : name == "rhs_dilate" ? parseDimsInto(rhsDilation)
                                                : parseReversal(parser, reversal);
    if (parsed)
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

void printCustomCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) {
  printer.printSymbolName(target.getValue());
}

ParseResult parseCustomCallTarget(OpAsmParser &parser, StringAttr &target) { return parser.parseSymbolName(target); }

} // namespace hlo
