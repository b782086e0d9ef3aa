// Working memory of library functions, from the runtime's cache, freed with its scope.
#pragma once

#include "allocator.h"

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace hlo::runtime {

/// Owned by one scope on one thread. `get` throws std::bad_alloc when there is no memory.
class Scratch {
public:
  Scratch() = default;
  ~Scratch() {
    for (const auto &[block, bytes] : blocks)
      deallocate(block, bytes);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// Room for `count` elements of plain type T, uninitialised, 64-byte aligned.
  template <typename T> T *get(int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    blocks.reserve(blocks.size() + 1);
    void *block = allocate(bytes);
    if (!block)
      throw std::bad_alloc();
    blocks.emplace_back(block, bytes);
    return static_cast<T *>(block);
  }

private:
  std::vector<std::pair<void *, size_t>> blocks;
};

} // namespace hlo::runtime
