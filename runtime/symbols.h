// The C functions that generated code may call by name.
#pragma once

#include <utility>
#include <vector>

namespace hlo::runtime {

/// Name and address of each: `hlo_rt_*`, libm, and the half-precision conversions that compilers expect of their
/// support library. Immutable once made; safe from any thread.
const std::vector<std::pair<const char *, void *>> &runtimeSymbols();

} // namespace hlo::runtime
