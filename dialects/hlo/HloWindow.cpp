#include "dialects/hlo/HloWindow.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace hlo {

static LogicalResult checkDims(const Checker &check, int64_t rank, const WindowAttributes::Dims &dims) {
  if (!dims.values)
    return success();
  if (failed(check.size(dims.sizeConstraint, dims.name, dims.values->size(), rank)))
    return failure();
  return check.atLeast(dims.rangeConstraint, dims.name, *dims.values, 1);
}

FailureOr<SmallVector<WindowDimension>> checkWindow(const Checker &check, int64_t rank,
                                                    const WindowAttributes &attributes) {
  for (const WindowAttributes::Dims *dims :
       {&attributes.sizes, &attributes.strides, &attributes.baseDilations, &attributes.windowDilations})
    if (failed(checkDims(check, rank, *dims)))
      return failure();
  if (DenseIntElementsAttr padding = attributes.padding) {
    ArrayRef<int64_t> shape = padding.getType().getShape();
    if (shape.size() != 2 || shape[0] != rank || shape[1] != 2)
      return check.fail(attributes.paddingConstraint)
             << "padding must have shape [" << rank << ", 2], found [" << shape << "]";
  }
  SmallVector<WindowDimension> window(rank);
  auto assign = [&](const WindowAttributes::Dims &dims, int64_t WindowDimension::*field) {
    if (dims.values)
      for (auto [dimension, value] : llvm::zip_equal(window, *dims.values))
        dimension.*field = value;
  };
  assign(attributes.sizes, &WindowDimension::size);
  assign(attributes.strides, &WindowDimension::stride);
  assign(attributes.baseDilations, &WindowDimension::baseDilation);
  assign(attributes.windowDilations, &WindowDimension::windowDilation);
  if (attributes.padding)
    for (auto [index, amount] : llvm::enumerate(attributes.padding.getValues<int64_t>()))
      (index % 2 == 0 ? window[index / 2].padLow : window[index / 2].padHigh) = amount;
  return window;
}

// (size - 1) * dilation + 1, or 0 of 0.
static std::optional<int64_t> dilated(int64_t size, int64_t dilation) {
  return size == 0 ? std::optional<int64_t>(0) : llvm::checkedMulAdd<int64_t>(size - 1, dilation, 1);
}

int64_t windowCount(int64_t size, const WindowDimension &window) {
  if (isDynamic(size) || isDynamic(window.size))
    return ShapedType::kDynamic;
  std::optional<int64_t> base = dilated(size, window.baseDilation);
  std::optional<int64_t> extent = dilated(window.size, window.windowDilation);
  if (base)
    base = llvm::checkedAdd(*base, window.padLow);
  if (base)
    base = llvm::checkedAdd(*base, window.padHigh);
  // A size beyond 64 bits cannot be stated in a type: leave it to run time, which cannot hold it either.
  if (!base || !extent)
    return ShapedType::kDynamic;
  if (*base <= 0 || *extent > *base)
    return 0;
  return (*base - *extent) / window.stride + 1;
}

} // namespace hlo
