// Type inference and the reporting of constraints.
#ifndef DIALECTS_HLO_HLOINFERENCE_H
#define DIALECTS_HLO_HLOINFERENCE_H

#include "dialects/hlo/HloDialect.h"
#include "dialects/hlo/HloTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace hlo {

// Reports constraints of one operation that do not hold. Without a location it fails silently, as builders ask for.
class Checker {
public:
  Checker(std::optional<mlir::Location> location, llvm::StringRef operation)
      : location(location), operation(operation) {}
  explicit Checker(mlir::Operation *op) : location(op->getLoc()), operation(op->getName().getStringRef()) {}

  // Starts a diagnostic: "'hlo.pad' op [C2] "; `constraint` may be empty. Converts to failure.
  mlir::InFlightDiagnostic fail(llvm::StringRef constraint) const;

  // Each dimension is in [0, rank).
  llvm::LogicalResult inRange(llvm::StringRef constraint, llvm::StringRef name, llvm::ArrayRef<int64_t> dimensions,
                              int64_t rank) const;
  llvm::LogicalResult unique(llvm::StringRef constraint, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> dimensions) const;
  llvm::LogicalResult sorted(llvm::StringRef constraint, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> dimensions) const;
  llvm::LogicalResult size(llvm::StringRef constraint, llvm::StringRef name, int64_t found, int64_t expected) const;
  // Each number is at least `least`.
  llvm::LogicalResult atLeast(llvm::StringRef constraint, llvm::StringRef name, llvm::ArrayRef<int64_t> numbers,
                              int64_t least) const;
  llvm::LogicalResult operandCount(mlir::ValueRange operands, unsigned least) const;
  llvm::LogicalResult allTensors(mlir::ValueRange operands) const;
  // All values have the element type of the first; `exactly`, also when it is quantized.
  llvm::LogicalResult sameElementType(llvm::StringRef constraint, mlir::ValueRange values, bool exactly = false) const;
  llvm::LogicalResult compatible(llvm::StringRef constraint, llvm::StringRef firstName, mlir::Type first,
                                 llvm::StringRef secondName, mlir::Type second) const;

  std::optional<mlir::Location> location;
  llvm::StringRef operation;
};

// The type of a tensor value. Operations that take only tensors have had their operands checked.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

// ---- Inference shared by families ----
llvm::LogicalResult inferSameAsOperands(const Checker &check, mlir::ValueRange operands,
                                        llvm::SmallVectorImpl<mlir::Type> &types);
llvm::LogicalResult inferPredOfShape(const Checker &check, mlir::ValueRange operands,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
// The most specific type that agrees with both: sizes known in either are known.
mlir::RankedTensorType mergeTypes(mlir::RankedTensorType a, mlir::RankedTensorType b);

// The types a region returns, or nothing while the region has no body yet.
std::optional<llvm::SmallVector<mlir::Type>> returnedTypes(mlir::Region *region);

// Checks that a region is a reducer: (tensor<E0>.., tensor<E0>..) -> (tensor<E0>..), where each input's element type
// can be widened to its E. Gives the E; without a body yet they are the inputs' own.
llvm::LogicalResult checkReducer(const Checker &check, llvm::StringRef constraint, mlir::Region &region,
                                 llvm::ArrayRef<mlir::Type> inputElements,
                                 llvm::SmallVectorImpl<mlir::Type> &accumulated);
// Checks the types of a region's arguments and of what it returns. Does nothing without a body.
llvm::LogicalResult checkSignature(const Checker &check, llvm::StringRef constraint, llvm::StringRef name,
                                   mlir::Region &region, mlir::TypeRange arguments, mlir::TypeRange results);

// Product of sizes; nothing when a size is not known or the product does not fit 64 bits.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

template <typename Op> constexpr unsigned leastOperands() {
  using namespace mlir::OpTrait;
  if (Op::template hasTrait<OneOperand>() || Op::template hasTrait<AtLeastNOperands<1>::template Impl>())
    return 1;
  if (Op::template hasTrait<NOperands<2>::template Impl>() ||
      Op::template hasTrait<AtLeastNOperands<2>::template Impl>())
    return 2;
  if (Op::template hasTrait<NOperands<3>::template Impl>() ||
      Op::template hasTrait<AtLeastNOperands<3>::template Impl>())
    return 3;
  if (Op::template hasTrait<NOperands<4>::template Impl>())
    return 4;
  if (Op::template hasTrait<NOperands<5>::template Impl>())
    return 5;
  return 0;
}

template <typename Op> constexpr unsigned leastRegions() {
  using namespace mlir::OpTrait;
  if (Op::template hasTrait<OneRegion>())
    return 1;
  return Op::template hasTrait<NRegions<2>::template Impl>() ? 2 : 0;
}

template <typename Op>
llvm::LogicalResult inferWith(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                              mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                              mlir::OpaqueProperties properties, mlir::RegionRange regions,
                              llvm::SmallVectorImpl<mlir::Type> &types) {
  Checker check(location, Op::getOperationName());
  if (llvm::failed(check.operandCount(operands, leastOperands<Op>())))
    return llvm::failure();
  if (regions.size() < leastRegions<Op>())
    return check.fail("") << "takes " << leastRegions<Op>() << " region(s), found " << regions.size();
  if constexpr (Op::takesOnlyTensors)
    if (llvm::failed(check.allTensors(operands)))
      return llvm::failure();
  typename Op::Adaptor adaptor(operands, attributes, properties, regions);
  if (llvm::failed(adaptor.verify(location.value_or(mlir::UnknownLoc::get(context)))))
    return llvm::failure();
  return Op::inferTypes(check, adaptor, types);
}

// Compares the inferred types with those the operation has.
llvm::LogicalResult checkInferred(const Checker &check, llvm::StringRef constraints, bool keepsQuantization,
                                  mlir::TypeRange inferred, mlir::TypeRange actual);

template <typename Op>
llvm::LogicalResult refineWith(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                               mlir::OpaqueProperties properties, mlir::RegionRange regions,
                               llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<mlir::Type> inferred;
  if (llvm::failed(inferWith<Op>(context, location, operands, attributes, properties, regions, inferred)))
    return llvm::failure();
  return checkInferred(Checker(location, Op::getOperationName()), Op::getResultConstraints(), Op::keepsQuantization,
                       inferred, types);
}

} // namespace hlo

#endif // DIALECTS_HLO_HLOINFERENCE_H
