// The `hlo` dialect: its class, enumerations, types and attributes.
#ifndef DIALECTS_HLO_HLODIALECT_H
#define DIALECTS_HLO_HLODIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/hlo/HloDialect.h.inc"
#include "dialects/hlo/HloEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/hlo/HloTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/hlo/HloAttrs.h.inc"

#endif // DIALECTS_HLO_HLODIALECT_H
