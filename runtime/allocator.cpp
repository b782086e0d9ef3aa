#include "allocator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace hlo::runtime {
namespace {

constexpr size_t alignment = 64;
constexpr size_t hugePage = size_t{2} << 20;
constexpr size_t hugeThreshold = size_t{4} << 20;
// Classes are multiples of 64 bytes up to 512, then eight steps a doubling: at most an eighth is wasted.
constexpr int linearClasses = 8;
constexpr int stepsPerDoubling = 8;
constexpr int classCount = linearClasses + stepsPerDoubling * 48;

struct SizeClass {
  int index;
  size_t bytes;
};

SizeClass classOf(size_t bytes) {
  bytes = std::max(bytes, size_t{1});
  if (bytes <= alignment * linearClasses) {
    const int index = static_cast<int>((bytes - 1) / alignment);
    return {index, (static_cast<size_t>(index) + 1) * alignment};
  }
  const int top = 63 - __builtin_clzll(bytes - 1); // 2^top < bytes <= 2^(top+1), top >= 9
  const size_t step = size_t{1} << (top - 3);
  const size_t steps = (bytes - 1 - (size_t{1} << top)) / step; // 0..7
  return {linearClasses + (top - 9) * stepsPerDoubling + static_cast<int>(steps),
          (size_t{1} << top) + (steps + 1) * step};
}

void *systemAllocate(size_t bytes) {
  if (bytes < hugeThreshold)
    return std::aligned_alloc(alignment, bytes);
  void *pointer = std::aligned_alloc(hugePage, (bytes + hugePage - 1) / hugePage * hugePage);
  if (pointer)
    madvise(pointer, bytes / hugePage * hugePage, MADV_HUGEPAGE);
  return pointer;
}

uint64_t defaultCacheLimit() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long pageSize = sysconf(_SC_PAGESIZE);
  return pages > 0 && pageSize > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageSize) / 4
                                   : uint64_t{1} << 30;
}

struct FreeBlock {
  void *pointer;
  uint64_t freedAt;
};

class Cache {
public:
  void *take(SizeClass size) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      statistics.bytesInUse += size.bytes;
      ++statistics.allocations;
      auto &blocks = free[static_cast<size_t>(size.index)];
      if (!blocks.empty()) {
        void *pointer = blocks.back().pointer;
        blocks.pop_back();
        statistics.bytesCached -= size.bytes;
        return pointer;
      }
      ++statistics.systemAllocations;
    }
    void *pointer = systemAllocate(size.bytes);
    if (!pointer) {
      trimTo(0);
      pointer = systemAllocate(size.bytes);
    }
    if (!pointer) {
      std::lock_guard<std::mutex> lock(mutex);
      statistics.bytesInUse -= size.bytes;
    }
    return pointer;
  }

  void give(void *pointer, SizeClass size) {
    uint64_t limit = 0;
    {
      std::lock_guard<std::mutex> lock(mutex);
      statistics.bytesInUse -= size.bytes;
      limit = statistics.cacheLimit;
      try {
        free[static_cast<size_t>(size.index)].push_back({pointer, ++clock});
      } catch (const std::bad_alloc &) {
        std::free(pointer);
        return;
      }
      statistics.bytesCached += size.bytes;
      sizes[static_cast<size_t>(size.index)] = size.bytes;
      if (statistics.bytesCached <= limit)
        return;
    }
    trimTo(limit);
  }

  void trimTo(uint64_t limit) {
    std::lock_guard<std::mutex> lock(mutex);
    while (statistics.bytesCached > limit) {
      // A stack's oldest block is at its bottom.
      size_t oldest = classCount;
      for (size_t i = 0; i < classCount; ++i)
        if (!free[i].empty() && (oldest == classCount || free[i].front().freedAt < free[oldest].front().freedAt))
          oldest = i;
      if (oldest == classCount)
        return;
      std::free(free[oldest].front().pointer);
      free[oldest].erase(free[oldest].begin());
      statistics.bytesCached -= sizes[oldest];
    }
  }

  void setLimit(uint64_t bytes) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      statistics.cacheLimit = bytes;
    }
    trimTo(bytes);
  }

  AllocatorStatistics snapshot() {
    std::lock_guard<std::mutex> lock(mutex);
    return statistics;
  }

  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }
  Cache() { statistics.cacheLimit = defaultCacheLimit(); }

private:
  std::mutex mutex;
  std::array<std::vector<FreeBlock>, classCount> free;
  std::array<size_t, classCount> sizes{};
  AllocatorStatistics statistics;
  uint64_t clock = 0;
};

// Never destroyed: arrays may outlive every static object.
Cache &cache() {
  static Cache *made = [] {
    auto *fresh = new Cache;
    pthread_atfork([] { cache().lock(); }, [] { cache().unlock(); }, [] { cache().unlock(); });
    return fresh;
  }();
  return *made;
}

} // namespace

void *allocate(size_t bytes) {
  if (bytes > size_t{1} << 47)
    return nullptr;
  return cache().take(classOf(bytes));
}

void deallocate(void *pointer, size_t bytes) {
  if (pointer)
    cache().give(pointer, classOf(bytes));
}

void trimCache() { cache().trimTo(0); }
void setCacheLimit(uint64_t bytes) { cache().setLimit(bytes); }
AllocatorStatistics allocatorStatistics() { return cache().snapshot(); }

} // namespace hlo::runtime
