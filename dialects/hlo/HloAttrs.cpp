#include "dialects/hlo/HloAttrs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/hlo/HloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/hlo/HloAttrs.cpp.inc"

namespace hlo {

void HloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/hlo/HloAttrs.cpp.inc"
      >();
}

FailureOr<SmallVector<int64_t>> parseDims(AsmParser &parser) {
  SmallVector<int64_t> dims;
  auto parseDim = [&]() { return parser.parseInteger(dims.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return failure();
  return dims;
}

void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

static bool isPermutation(ArrayRef<int64_t> dims) {
  SmallVector<bool> seen(dims.size(), false);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(dims.size()) || seen[dim])
      return false;
    seen[dim] = true;
  }
  return true;
}

// ---- Convolution ----

// One tensor of a convolution: which dimension has which letter, and the spatial dimensions.
struct LabelledDims {
  int64_t first = -1;
  int64_t second = -1;
  SmallVector<int64_t> spatial;
};

static void printLabelled(AsmPrinter &printer, char firstLetter, int64_t first, char secondLetter, int64_t second,
                          ArrayRef<int64_t> spatial) {
  SmallVector<std::string> labels(spatial.size() + 2);
  labels[first] = firstLetter;
  labels[second] = secondLetter;
  for (auto [index, dimension] : llvm::enumerate(spatial))
    labels[dimension] = std::to_string(index);
  printer << '[';
  llvm::interleaveComma(labels, printer);
  printer << ']';
}

static ParseResult parseLabelled(AsmParser &parser, StringRef firstLetter, StringRef secondLetter, LabelledDims &dims) {
  SmallVector<std::pair<int64_t, int64_t>> spatial;
  int64_t position = 0;
  auto parseLabel = [&]() -> ParseResult {
    const llvm::SMLoc location = parser.getCurrentLocation();
    StringRef letter;
    int64_t number = 0;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      spatial.push_back({number, position++});
      return success();
    }
    if (parser.parseKeyword(&letter))
      return failure();
    int64_t *target = letter == firstLetter ? &dims.first : letter == secondLetter ? &dims.second : nullptr;
    if (!target)
      return parser.emitError(location, "expected '")
             << firstLetter << "', '" << secondLetter << "' or a spatial dimension";
    if (*target >= 0)
      return parser.emitError(location, "'") << letter << "' is given twice";
    *target = position++;
    return success();
  };
  const llvm::SMLoc start = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseLabel))
    return failure();
  if (dims.first < 0 || dims.second < 0)
    return parser.emitError(start, "expected dimensions '") << firstLetter << "' and '" << secondLetter << "'";
  dims.spatial.assign(spatial.size(), -1);
  for (auto [index, at] : spatial) {
    if (index < 0 || index >= static_cast<int64_t>(spatial.size()) || dims.spatial[index] >= 0)
      return parser.emitError(start, "spatial dimensions must be 0 to ") << spatial.size() - 1 << ", each once";
    dims.spatial[index] = at;
  }
  return success();
}

void printConvBody(AsmPrinter &printer, ConvDimensionNumbersAttr dims) {
  printLabelled(printer, 'b', dims.getInputBatchDimension(), 'f', dims.getInputFeatureDimension(),
                dims.getInputSpatialDimensions());
  printer << 'x';
  printLabelled(printer, 'i', dims.getKernelInputFeatureDimension(), 'o', dims.getKernelOutputFeatureDimension(),
                dims.getKernelSpatialDimensions());
  printer << "->";
  printLabelled(printer, 'b', dims.getOutputBatchDimension(), 'f', dims.getOutputFeatureDimension(),
                dims.getOutputSpatialDimensions());
}

ParseResult parseConvBody(AsmParser &parser, ConvDimensionNumbersAttr &attr) {
  const llvm::SMLoc start = parser.getCurrentLocation();
  LabelledDims input, kernel, output;
  if (parseLabelled(parser, "b", "f", input) || parser.parseKeyword("x") || parseLabelled(parser, "i", "o", kernel) ||
      parser.parseArrow() || parseLabelled(parser, "b", "f", output))
    return failure();
  attr = ConvDimensionNumbersAttr::getChecked([&] { return parser.emitError(start); }, parser.getContext(), input.first,
                                              input.second, input.spatial, kernel.first, kernel.second, kernel.spatial,
                                              output.first, output.second, output.spatial);
  return success(static_cast<bool>(attr));
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printConvBody(printer, *this);
  printer << '>';
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  ConvDimensionNumbersAttr attr;
  if (parser.parseLess() || parseConvBody(parser, attr) || parser.parseGreater())
    return {};
  return attr;
}

LogicalResult ConvDimensionNumbersAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t inputBatch,
                                               int64_t inputFeature, ArrayRef<int64_t> inputSpatial,
                                               int64_t kernelInputFeature, int64_t kernelOutputFeature,
                                               ArrayRef<int64_t> kernelSpatial, int64_t outputBatch,
                                               int64_t outputFeature, ArrayRef<int64_t> outputSpatial) {
  auto check = [&](StringRef name, int64_t first, int64_t second, ArrayRef<int64_t> spatial) -> LogicalResult {
    SmallVector<int64_t> all(spatial);
    all.append({first, second});
    if (!isPermutation(all))
      return emitError() << name << " dimensions must be 0 to " << all.size() - 1 << ", each once, found [" << all
                         << "]";
    return success();
  };
  if (inputSpatial.size() != kernelSpatial.size() || inputSpatial.size() != outputSpatial.size())
    return emitError() << "input, kernel and output must have as many spatial dimensions, found " << inputSpatial.size()
                       << ", " << kernelSpatial.size() << " and " << outputSpatial.size();
  if (failed(check("input", inputBatch, inputFeature, inputSpatial)) ||
      failed(check("kernel", kernelInputFeature, kernelOutputFeature, kernelSpatial)))
    return failure();
  return check("output", outputBatch, outputFeature, outputSpatial);
}

// ---- Result accuracy ----

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!getAtol().isPosZero()) {
    printer << "atol = ";
    printer.printFloat(getAtol());
    printer << ", ";
  }
  if (!getRtol().isPosZero()) {
    printer << "rtol = ";
    printer.printFloat(getRtol());
    printer << ", ";
  }
  if (getUlps() != 0)
    printer << "ulps = " << getUlps() << ", ";
  printer << "mode = ";
  printer.printAttribute(getMode());
  printer << '>';
}

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  const llvm::SMLoc start = parser.getCurrentLocation();
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "atol")
      return parser.parseFloat(atol);
    if (name == "rtol")
      return parser.parseFloat(rtol);
    if (name == "ulps")
      return parser.parseInteger(ulps);
    if (name == "mode")
      return parser.parseAttribute(mode);
    return parser.emitError(start, "unknown field '") << name << "'";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseField))
    return {};
  if (!mode)
    return parser.emitError(start, "a result accuracy has a mode"), Attribute();
  return getChecked([&] { return parser.emitError(start); }, parser.getContext(), APFloat(atol), APFloat(rtol), ulps,
                    mode);
}

LogicalResult ResultAccuracyAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat atol, APFloat rtol,
                                         int64_t ulps, ResultAccuracyModeAttr mode) {
  if (atol.isNegative() || rtol.isNegative() || ulps < 0)
    return emitError() << "tolerances must not be negative";
  const bool any = !atol.isZero() || !rtol.isZero() || ulps != 0;
  if (mode.getValue() == ResultAccuracyMode::TOLERANCE)
    return any ? success() : LogicalResult(emitError() << "mode TOLERANCE needs a tolerance");
  return any ? LogicalResult(emitError() << "tolerances need mode TOLERANCE") : success();
}

// ---- Dot algorithm ----

LogicalResult DotAlgorithmAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type lhs, Type rhs,
                                       Type accumulation, int64_t lhsComponents, int64_t rhsComponents,
                                       int64_t operations, bool) {
  for (Type type : {lhs, rhs, accumulation})
    if (!isa<FloatType, IntegerType>(type))
      return emitError() << "an algorithm computes with floats or integers, found " << type;
  if (lhsComponents < 1 || rhsComponents < 1 || operations < 1)
    return emitError() << "components and primitive operations must be at least 1, found " << lhsComponents << ", "
                       << rhsComponents << " and " << operations;
  return success();
}

// ---- Tensor encodings ----

void BoundsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getBounds(), printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
  printer << '>';
}

Attribute BoundsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  auto parseBound = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      bounds.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(bounds.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseBound))
    return {};
  return get(parser.getContext(), bounds);
}

LogicalResult BoundsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (getBounds().size() != shape.size())
    return emitError() << "bounds must have " << shape.size() << " element(s), found " << getBounds().size();
  for (auto [bound, size] : llvm::zip_equal(getBounds(), shape)) {
    if (ShapedType::isDynamic(bound))
      continue;
    if (bound < 0)
      return emitError() << "bounds must not be negative, found " << bound;
    if (!ShapedType::isDynamic(size))
      return emitError() << "a static dimension takes no bound, found " << bound;
  }
  return success();
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDims(printer, getMinorToMajor());
  printer << '>';
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  const llvm::SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<SmallVector<int64_t>> dims = parseDims(parser);
  if (failed(dims) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(start); }, parser.getContext(), *dims);
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> minorToMajor) {
  if (!isPermutation(minorToMajor))
    return emitError() << "a layout is a permutation of dimensions, found [" << minorToMajor << "]";
  return success();
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (getMinorToMajor().size() != shape.size())
    return emitError() << "layout of " << getMinorToMajor().size() << " dimension(s) on a tensor of rank "
                       << shape.size();
  return success();
}

// ---- Meshes ----

LogicalResult ReplicaGroupMeshAxesAttr::verify(function_ref<InFlightDiagnostic()> emitError, Attribute mesh,
                                               ArrayAttr axes) {
  if (!isa<MeshAttr, FlatSymbolRefAttr>(mesh))
    return emitError() << "mesh must be a mesh or the symbol of one, found " << mesh;
  for (Attribute axis : axes)
    if (!isa<AxisRefAttr>(axis))
      return emitError() << "axes must be axis_ref attributes, found " << axis;
  return success();
}

} // namespace hlo
