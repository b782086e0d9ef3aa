// What the compiler asks about sorts ahead of time.
#pragma once

#include <cstdint>

namespace hlo::runtime {

/// Bytes that hlo_rt_sort, hlo_rt_sort_keys and hlo_rt_sort_first work in on at most `threads` threads. Of the buffers
/// only matters which are null; throws std::bad_alloc.
int64_t sortScratchBytes(int threads, void *const *buffers, const int64_t *parameters);
int64_t sortKeysScratchBytes(int threads, void *const *buffers, const int64_t *parameters);
int64_t sortFirstScratchBytes(int threads, void *const *buffers, const int64_t *parameters);

} // namespace hlo::runtime
