// The `hlo` dialect and the base classes of its operations.
#ifndef HLO_DIALECT
#define HLO_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hlo_Dialect : Dialect {
  let name = "hlo";
  let cppNamespace = "::hlo";
  let summary = "Tensor programs with the semantics of StableHLO";
  let description = [{
    Operation, operand and attribute names, operand order and attribute syntax are those of StableHLO, so that the
    generic form of a program differs from StableHLO's only in the prefix: `"stablehlo.add"` is `"hlo.add"`,
    `#stablehlo.dot<...>` is `#hlo.dot<...>`, `!stablehlo.token` is `!hlo.token`. The CHLO operations that front ends
    emit are operations of this dialect too. What HLO has and StableHLO lacks is added: `hlo.fusion`, `hlo.copy`, and
    the layout of a tensor as its encoding, `#hlo.layout<[1, 0]>`.

    Constraints are numbered as in the StableHLO specification; a diagnostic starts with the number of the
    constraint that does not hold, for instance `[C3]`. A number such as `[I2]` is that of the input whose type the
    specification restricts. Operations that the specification lacks are checked alike, without numbers.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::quant::QuantDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
    // One a family, each defined beside the family's operations.
    void registerElementwiseOps();
    void registerMathOps();
    void registerDataMovementOps();
    void registerReductionOps();
    void registerContractionOps();
    void registerNumericOps();
    void registerDynamicOps();
    void registerQuantizationOps();
    void registerControlFlowOps();
    void registerCollectiveOps();
  }];
}

class HLO_Op<string mnemonic, list<Trait> traits = []> : Op<Hlo_Dialect, mnemonic, traits>;

// An operation that infers its result types. `inferTypes` is called with well-formed operands (number, ranked tensors
// where the operation takes only tensors) and attributes. Inference serves builders and the verifier alike, and
// reports the constraints on operands and attributes; `resultConstraints` are those that the result types obey.
class HLO_InferOp<string mnemonic, string resultConstraints, list<Trait> traits = [], bit tensorsOnly = 1> :
    HLO_Op<mnemonic, traits # [DeclareOpInterfaceMethods<InferTypeOpInterface, ["refineReturnTypes"]>]> {
  // Whether results keep the parameters of quantized elements, as operations that only move elements do.
  bit keepsQuantization = 0;
  string inferDeclaration = [{
    static ::llvm::LogicalResult inferTypes(const ::hlo::Checker &check, Adaptor adaptor,
                                            ::llvm::SmallVectorImpl<::mlir::Type> &types);
    static constexpr bool takesOnlyTensors = }] # !if(tensorsOnly, "true", "false") # [{;
    static constexpr bool keepsQuantization = }] # !if(keepsQuantization, "true", "false") # [{;
    static ::llvm::StringRef getResultConstraints() { return "}] # resultConstraints # [{"; }
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::hlo::areCompatible(inferred, actual);
    }
  }];
  let extraClassDeclaration = inferDeclaration;
  string inferDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::hlo::inferWith<$cppClass>(context, location, operands, attributes, properties, regions, types);
    }
    ::llvm::LogicalResult $cppClass::refineReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::hlo::refineWith<$cppClass>(context, location, operands, attributes, properties, regions, types);
    }
  }];
  let extraClassDefinition = inferDefinition;
}

// An operation whose only result has a type that depends on nothing.
class HLO_NullaryInferOp<string mnemonic, string resultType, list<Trait> traits = []> :
    HLO_Op<mnemonic, traits # [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location>, ::mlir::ValueRange, ::mlir::DictionaryAttr,
        ::mlir::OpaqueProperties, ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(}] # resultType # [{);
      return ::llvm::success();
    }
  }];
}

#endif // HLO_DIALECT
