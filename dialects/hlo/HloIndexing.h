// Shapes of broadcasts, reshapes, gathers and scatters, static and dynamic.
#ifndef DIALECTS_HLO_HLOINDEXING_H
#define DIALECTS_HLO_HLOINDEXING_H

#include "dialects/hlo/HloInference.h"

namespace hlo {

// C1 to C6 of broadcast_in_dim.
llvm::LogicalResult checkBroadcast(const Checker &check, mlir::RankedTensorType operand, mlir::RankedTensorType result,
                                   llvm::ArrayRef<int64_t> dimensions);

// C1 to C3 of reshape.
llvm::LogicalResult checkReshape(const Checker &check, mlir::RankedTensorType operand, mlir::RankedTensorType result);

// The shape of a padded tensor.
llvm::FailureOr<llvm::SmallVector<int64_t>> paddedShape(const Checker &check, llvm::StringRef constraint,
                                                        llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> low,
                                                        llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior);

// The numbers a shape operand is known to hold, nothing when it is computed.
std::optional<llvm::SmallVector<int64_t>> constantShape(mlir::Value shape);
// A shape operand that is known agrees with the result, and is not negative.
llvm::LogicalResult checkShapeOperand(const Checker &check, llvm::StringRef constraint, llvm::StringRef name,
                                      mlir::Value shape, mlir::RankedTensorType result);

// The numbers of gather's constraints, which dynamic_gather numbers otherwise.
struct GatherConstraints {
  llvm::StringRef rank, vectorRange, mapSize, offsetOrder, offsetRange, collapsedUnique, collapsedSorted,
      collapsedRange, collapsedSizes, mapUnique, mapRange, sliceCount, sliceRange, elements;
};
inline constexpr GatherConstraints gatherConstraints = {"C1", "C2", "C3",  "C4",  "C5",  "C6",  "C7",
                                                        "C8", "C9", "C18", "C19", "C20", "C21", "C23"};
inline constexpr GatherConstraints dynamicGatherConstraints = {"C1", "C2", "C3", "C4",  "C5",  "C6",  "C6",
                                                               "C7", "C8", "C9", "C10", "C11", "C12", "C14"};

// Checks a gather and gives its result type. Slice sizes may be unknown.
llvm::LogicalResult inferGather(const Checker &check, const GatherConstraints &constraints,
                                mlir::RankedTensorType operand, mlir::RankedTensorType indices,
                                GatherDimensionNumbersAttr dims, llvm::ArrayRef<int64_t> sliceSizes,
                                llvm::SmallVectorImpl<mlir::Type> &types);

// C2 to C4 and C7 to C22 of scatter.
llvm::LogicalResult checkScatter(const Checker &check, mlir::RankedTensorType input, mlir::RankedTensorType indices,
                                 mlir::RankedTensorType update, ScatterDimensionNumbersAttr dims);

} // namespace hlo

#endif // DIALECTS_HLO_HLOINDEXING_H
