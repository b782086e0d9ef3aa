// The C functions that generated code may call by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hlo::runtime {

/// Name and address of each: `hlo_rt_*`, libm, and the half-precision conversions that compilers expect of their
/// support library. Immutable once made; safe from any thread.
const std::vector<std::pair<const char *, void *>> &runtimeSymbols();

/// Bytes of scratch that a call of a library function with these parameters works in, on at most `threads` threads; 0
/// for a function or parameters that it does not know. Of the buffers only matters which are null; throws
/// std::bad_alloc.
int64_t libraryScratchBytes(std::string_view function, void *const *buffers, const int64_t *parameters, int threads);

} // namespace hlo::runtime
