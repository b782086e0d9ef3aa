// Memory for results and arenas: a cache of blocks by size class in front of the system.
//
// First touch of fresh pages costs more than most kernels (25 ms for 64 MiB of 4 KiB pages), so freed blocks are kept
// and given out again, newest first. Blocks from 4 MiB are aligned to 2 MiB and ask for huge pages. Ownership: whoever
// allocates frees, with the same size. Thread safety: all functions, from any thread, also across fork.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hlo::runtime {

struct AllocatorStatistics {
  uint64_t bytesInUse = 0;
  uint64_t bytesCached = 0;
  uint64_t cacheLimit = 0;
  uint64_t allocations = 0;       // blocks given out so far
  uint64_t systemAllocations = 0; // of these, asked of the system
};

/// At least `bytes` bytes with 64-byte alignment, of unspecified content; null if there is no memory. 0 bytes are 64.
void *allocate(size_t bytes);

/// Takes back what allocate(bytes) returned; null is ignored.
void deallocate(void *pointer, size_t bytes);

/// Gives all cached blocks back to the system.
void trimCache();

/// Upper bound of what stays cached; the longest unused blocks go first. Default: a quarter of the machine's memory.
void setCacheLimit(uint64_t bytes);

AllocatorStatistics allocatorStatistics();

} // namespace hlo::runtime
