// The LAPACK entries of kernel_abi.h.
#pragma once

#include "../kernel_abi.h"

#include <utility>
#include <vector>

namespace hlo::runtime::lapack {

/// Names and addresses of all entries; immutable, safe from any thread.
const std::vector<std::pair<const char *, HloLibraryFn>> &entries();

} // namespace hlo::runtime::lapack
