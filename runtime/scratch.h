// Working memory of library functions: counted by a dry run when a program is compiled, given with each call.
#pragma once

#include "allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace hlo::runtime {

/// Lays arrays out one behind the other, each at a multiple of 64 bytes. Without memory to do that in it counts alone.
class Carver {
public:
  Carver() = default;
  explicit Carver(char *memory) : memory(memory), counts(false) {}

  /// Room for `count` elements of plain type T, uninitialised; null when counting.
  template <typename T> T *take(int64_t count) {
    char *array = counts ? nullptr : memory + used;
    used += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    peak = std::max(peak, used);
    return reinterpret_cast<T *>(array);
  }

  bool isCounting() const { return counts; }
  int64_t mark() const { return used; }
  /// Ends the arrays taken since a mark.
  void releaseTo(int64_t mark) { used = mark; }
  /// Most bytes taken at once.
  int64_t bytes() const { return peak; }

private:
  char *memory = nullptr;
  bool counts = true;
  int64_t used = 0, peak = 0;
};

/// The memory of one call: what it was given if that is enough, else a block of the runtime's cache.
class Workspace {
public:
  /// Throws std::bad_alloc when there is no memory.
  Workspace(void *given, int64_t givenBytes, int64_t needed) {
    if (needed <= givenBytes) {
      memory = given;
      return;
    }
    bytes = static_cast<size_t>(needed);
    memory = own = allocate(bytes);
    if (!own)
      throw std::bad_alloc();
  }
  ~Workspace() { deallocate(own, bytes); }
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;

  char *data() const { return static_cast<char *>(memory); }

private:
  void *memory = nullptr, *own = nullptr;
  size_t bytes = 0;
};

/// Equal parts of a call's memory for the pieces of a parallel loop that run at the same time.
///
/// Thread safety: `Lease` may be made from any thread, at most `count` at a time.
class Slots {
public:
  static constexpr int64_t most = 64;

  Slots(Carver &carver, int64_t bytes, int64_t wanted)
      : count(static_cast<int>(std::clamp<int64_t>(wanted, 1, most))), bytes((bytes + 63) / 64 * 64),
        memory(carver.take<char>(this->bytes * count)) {}

  const int count;

  class Lease {
  public:
    explicit Lease(Slots &slots) : slots(slots) {
      uint64_t taken = slots.taken.load(std::memory_order_relaxed);
      do
        index = __builtin_ctzll(~taken);
      while (!slots.taken.compare_exchange_weak(taken, taken | uint64_t{1} << index, std::memory_order_acquire));
    }
    ~Lease() { slots.taken.fetch_and(~(uint64_t{1} << index), std::memory_order_release); }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;

    char *data() const { return slots.memory + slots.bytes * index; }

  private:
    Slots &slots;
    int index;
  };

private:
  const int64_t bytes;
  char *const memory;
  std::atomic<uint64_t> taken{0};
};

} // namespace hlo::runtime
