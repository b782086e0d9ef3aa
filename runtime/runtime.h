// What generated code sees behind `HloRuntime`: the state of one call.
#pragma once

#include "kernel_abi.h"

#include <atomic>

/// Made on the caller's stack for each call; functions of kernel_abi.h read and write it through a const pointer.
/// Thread safety: the error may be stored by any thread of the call; all else is fixed.
struct HloRuntime {
  explicit HloRuntime(int threads) : threads(threads) {}
  const int threads;
  mutable std::atomic<bool> failed{false};
  mutable char error[512];
  mutable void *exception = nullptr; // a PyObject: what a Python callback raised; owned; changed under the GIL
};

namespace hlo::runtime {

/// Stores the message and returns the code: `return fail(runtime, HLO_ERROR, "...")`.
int32_t fail(const HloRuntime *runtime, int32_t code, const char *message);

} // namespace hlo::runtime
