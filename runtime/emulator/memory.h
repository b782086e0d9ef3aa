// Device memory of the interpreter: allocations with exact bounds, and what a launch may touch of them.
#pragma once

#include "shadow.h"

#include <map>
#include <tuple>

namespace hlo::emulator {

/// Generic addresses of memory that is not global; device pointers are addresses of the host, below these.
constexpr uint64_t SharedWindow = 1ull << 60;
constexpr uint64_t LocalWindow = 1ull << 61;
constexpr uint64_t ParameterWindow = 1ull << 62;
constexpr uint64_t WindowBytes = 1ull << 32;
/// Shared addresses start here, so that a null pointer is out of bounds.
constexpr uint32_t SharedBase = 1024;

struct Allocation {
  std::string name;
  std::unique_ptr<char[]> storage;
  uint64_t begin = 0; // aligned to 256 bytes
  uint64_t bytes = 0;
  Shadow shadow;
};

/// Bytes that the current launch may access.
struct Range {
  uint64_t begin, end;
  bool writable;
  Allocation *allocation;
};

class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  uint64_t allocate(uint64_t bytes, const std::string &name);
  /// Makes memory of somebody else known: the caller keeps it alive until `release`.
  void adopt(uint64_t address, uint64_t bytes, const std::string &name);
  void release(uint64_t address);
  /// Throws Fault of kind bounds if the bytes are not all in one allocation.
  char *at(uint64_t address, uint64_t bytes);
  uint64_t allocatedBytes() const { return allocated_; }

  /// Limits the next launch to (address, bytes, writable); without ranges, to whatever is allocated.
  void restrict(const std::vector<std::tuple<uint64_t, uint64_t, bool>> &ranges);
  void beginLaunch(bool races, uint32_t sharedBytes);
  void beginBlock();

  /// The host address of an access to global memory; checks bounds and alignment, notes it. Throws Fault.
  /// A read may begin inside and end past a range: LLVM widens loads so, and since it is aligned to its size it cannot
  /// leave a page. What is past the end reads as ones, a NaN, so that a use of it shows.
  char *global(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written = nullptr);
  /// The same for shared memory of the current block; `address` counts from SharedBase.
  char *shared(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written = nullptr);
  char *sharedWithoutNote(uint64_t address, uint32_t bytes);
  /// The range that holds all bytes from `begin` to `end` and may be read, or written if `writes`; nullptr if none
  /// does.
  const Range *holds(uint64_t begin, uint64_t end, bool writes);
  /// Whether addresses from `begin` to `end` are all of the block's shared memory.
  bool sharedHolds(uint64_t begin, uint64_t end) const {
    return begin >= SharedBase && begin <= end && end - SharedBase <= shared_.size();
  }
  /// To be added to an address of shared memory.
  char *sharedOrigin() { return shared_.data() - SharedBase; }
  /// Notes an access to memory that holds it: of `range`, or, without one, of the block's shared memory.
  void note(const Range *range, uint64_t address, uint32_t bytes, Access access, const Actor &actor, bool same);
  /// The same for reads of `count` addresses, by a lane each or by several (Cell::SeveralLanes), which `at` counts.
  void noteReads(const Range *range, const uint64_t *addresses, const uint8_t *lanes, int count, uint32_t bytes,
                 Actor actor, int &at);
  void setPending(uint64_t sharedAddress, uint32_t bytes, bool pending);
  bool races() const { return races_; }
  Timeline &timeline() { return timeline_; }
  bool hasReleases() const { return !releases_.empty(); }
  /// What blocks of this launch have released by atomic operations on an address.
  Releases &releasesAt(uint64_t address) { return releases_[address]; }
  /// What the current launch may access, in order, without overlaps.
  const std::vector<Range> &ranges() const { return ranges_; }

private:
  [[noreturn]] void outOfBounds(uint64_t address, uint32_t bytes, Access access) const;
  const Range *find(uint64_t address); // the one that holds the address, or none

  std::map<uint64_t, Allocation> allocations_;
  std::vector<std::tuple<uint64_t, uint64_t, bool>> restriction_;
  std::vector<Range> ranges_;
  size_t last_ = 0;
  uint64_t allocated_ = 0;
  Timeline timeline_;
  std::map<uint64_t, Releases> releases_;
  bool races_ = true;
  std::vector<char> shared_;
  Shadow sharedShadow_;
  char beyond_[64];
};

} // namespace hlo::emulator
