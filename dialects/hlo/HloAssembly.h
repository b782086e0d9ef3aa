// Parts of the pretty assembly that declarative formats name as custom directives.
#ifndef DIALECTS_HLO_HLOASSEMBLY_H
#define DIALECTS_HLO_HLOASSEMBLY_H

#include "dialects/hlo/HloDialect.h"

namespace hlo {

// ---- Types ----
// All types when they differ, as a function type; one type when they are the same.
void printSameTypes(mlir::OpAsmPrinter &printer, mlir::TypeRange operands, mlir::Type result);
mlir::ParseResult parseSameTypes(mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::Type *> operands, mlir::Type &result);

inline void printElementwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type operand,
                                  mlir::Type result) {
  printSameTypes(printer, {operand}, result);
}
inline void printElementwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type a, mlir::Type b,
                                  mlir::Type result) {
  printSameTypes(printer, {a, b}, result);
}
inline void printElementwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type a, mlir::Type b,
                                  mlir::Type c, mlir::Type result) {
  printSameTypes(printer, {a, b, c}, result);
}
inline mlir::ParseResult parseElementwiseTypes(mlir::OpAsmParser &parser, mlir::Type &operand, mlir::Type &result) {
  return parseSameTypes(parser, {&operand}, result);
}
inline mlir::ParseResult parseElementwiseTypes(mlir::OpAsmParser &parser, mlir::Type &a, mlir::Type &b,
                                               mlir::Type &result) {
  return parseSameTypes(parser, {&a, &b}, result);
}
inline mlir::ParseResult parseElementwiseTypes(mlir::OpAsmParser &parser, mlir::Type &a, mlir::Type &b, mlir::Type &c,
                                               mlir::Type &result) {
  return parseSameTypes(parser, {&a, &b, &c}, result);
}

// The result's type stands for both parts'.
void printComplexTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type lhs, mlir::Type rhs,
                       mlir::Type result);
mlir::ParseResult parseComplexTypes(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs, mlir::Type &result);

// "tensor<4xi1>, tensor<4xf32>": predicate, then everything else.
void printSelectTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type pred, mlir::Type onTrue,
                      mlir::Type onFalse, mlir::Type result);
mlir::ParseResult parseSelectTypes(mlir::OpAsmParser &parser, mlir::Type &pred, mlir::Type &onTrue, mlir::Type &onFalse,
                                   mlir::Type &result);

// Each operand's type is a result's.
void printPairwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::TypeRange operands,
                        mlir::TypeRange results);
mlir::ParseResult parsePairwiseTypes(mlir::OpAsmParser &parser, llvm::SmallVectorImpl<mlir::Type> &operands,
                                     llvm::SmallVectorImpl<mlir::Type> &results);

void printTupleTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::TypeRange operands, mlir::Type result);
mlir::ParseResult parseTupleTypes(mlir::OpAsmParser &parser, llvm::SmallVectorImpl<mlir::Type> &operands,
                                  mlir::Type &result);

// One type for any number of operands and the result.
void printVariadicTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange operands,
                        mlir::TypeRange types, mlir::Type result);
mlir::ParseResult parseVariadicTypes(mlir::OpAsmParser &parser,
                                     llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand> operands,
                                     llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type &result);

// ---- Operands and attributes ----
// "%a, %b, ": the comma also follows the last, before an attribute.
void printOperandsThenComma(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange operands);
mlir::ParseResult parseOperandsThenComma(mlir::OpAsmParser &parser,
                                         llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);

// "e5m10"
void printExponentMantissa(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa);
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser &parser, mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);

// "[0:4, 2:8:3]": start, limit and, unless one, stride.
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseI64ArrayAttr starts,
                      mlir::DenseI64ArrayAttr limits, mlir::DenseI64ArrayAttr strides);
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits, mlir::DenseI64ArrayAttr &strides);

// "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
void printDotDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *op, DotDimensionNumbersAttr dims);
mlir::ParseResult parseDotDimensions(mlir::OpAsmParser &parser, DotDimensionNumbersAttr &dims);

// ", precision = [DEFAULT, HIGHEST], algorithm = <...>"
void printPrecisionAndAlgorithm(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr precision,
                                DotAlgorithmAttr algorithm);
mlir::ParseResult parsePrecisionAndAlgorithm(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm);

// ", precision = [DEFAULT, HIGHEST]"
void printPrecision(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr precision);
mlir::ParseResult parsePrecision(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision);

void printConvDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *op, ConvDimensionNumbersAttr dims);
mlir::ParseResult parseConvDimensions(mlir::OpAsmParser &parser, ConvDimensionNumbersAttr &dims);

// "stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]"
void printWindowAttributes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseI64ArrayAttr strides,
                           mlir::DenseIntElementsAttr padding, mlir::DenseI64ArrayAttr lhsDilation,
                           mlir::DenseI64ArrayAttr rhsDilation, mlir::DenseBoolArrayAttr reversal);
mlir::ParseResult parseWindowAttributes(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &strides,
                                        mlir::DenseIntElementsAttr &padding, mlir::DenseI64ArrayAttr &lhsDilation,
                                        mlir::DenseI64ArrayAttr &rhsDilation, mlir::DenseBoolArrayAttr &reversal);

// "@name", quoted when it is not an identifier.
void printCustomCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::StringAttr target);
mlir::ParseResult parseCustomCallTarget(mlir::OpAsmParser &parser, mlir::StringAttr &target);

} // namespace hlo

#endif // DIALECTS_HLO_HLOASSEMBLY_H
