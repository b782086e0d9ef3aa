// The LAPACK entries of kernel_abi.h.
#pragma once

#include "../kernel_abi.h"

#include <vector>

namespace hlo::runtime::lapack {

struct Entry {
  const char *name;
  HloLibraryFn function;
  /// Bytes the function works in with these parameters on at most so many threads; 0 if it would report an error.
  int64_t (*scratchBytes)(int threads, const int64_t *parameters);
};

/// All entries; immutable, safe from any thread.
const std::vector<Entry> &entries();

} // namespace hlo::runtime::lapack
