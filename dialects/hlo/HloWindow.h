// Windows that slide over dimensions: convolution, reduce_window, select_and_scatter.
#ifndef DIALECTS_HLO_HLOWINDOW_H
#define DIALECTS_HLO_HLOWINDOW_H

#include "dialects/hlo/HloInference.h"

namespace hlo {

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padLow = 0;
  int64_t padHigh = 0;
  int64_t windowDilation = 1;
  int64_t baseDilation = 1;
};

// The attributes of a window, each with the constraints on its length and on its least value. An attribute that is
// absent has its neutral value in every dimension.
struct WindowAttributes {
  struct Dims {
    llvm::StringRef name;
    std::optional<llvm::ArrayRef<int64_t>> values;
    llvm::StringRef sizeConstraint;
    llvm::StringRef rangeConstraint;
  };
  Dims sizes;
  Dims strides;
  Dims baseDilations;
  Dims windowDilations;
  mlir::DenseIntElementsAttr padding;
  llvm::StringRef paddingConstraint;
};

// Checks a window over `rank` dimensions and gives it dimension by dimension. A size of zero is allowed, and sizes may
// be absent (a convolution's are the kernel's), when `sizesGiven` is false.
llvm::FailureOr<llvm::SmallVector<WindowDimension>> checkWindow(const Checker &check, int64_t rank,
                                                                const WindowAttributes &attributes);

// How many places the window takes over a dimension of this size; dynamic when that is not known.
int64_t windowCount(int64_t size, const WindowDimension &window);

inline std::optional<llvm::ArrayRef<int64_t>> optionalDims(std::optional<llvm::ArrayRef<int64_t>> dims) { return dims; }

} // namespace hlo

#endif // DIALECTS_HLO_HLOWINDOW_H
