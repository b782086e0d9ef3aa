// Parsing and printing that attributes share with the assembly of operations.
#ifndef DIALECTS_HLO_HLOATTRS_H
#define DIALECTS_HLO_HLOATTRS_H

#include "dialects/hlo/HloDialect.h"

namespace hlo {

// "[0, 1]"
mlir::FailureOr<llvm::SmallVector<int64_t>> parseDims(mlir::AsmParser &parser);
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> dims);

// "[b, f, 0]x[o, i, 0]->[b, f, 0]"
mlir::ParseResult parseConvBody(mlir::AsmParser &parser, ConvDimensionNumbersAttr &attr);
void printConvBody(mlir::AsmPrinter &printer, ConvDimensionNumbersAttr dims);

} // namespace hlo

#endif // DIALECTS_HLO_HLOATTRS_H
