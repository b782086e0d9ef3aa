// Device memory of the interpreter: allocations with exact bounds, what a launch may touch of them, and who touched
// each byte last, from which data races and reads of unwritten memory follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hlo::emulator {

/// What a kernel did wrong, and where.
struct Fault : std::runtime_error {
  Fault(std::string kind, const std::string &message) : std::runtime_error(message), kind(std::move(kind)) {}
  std::string kind; // bounds, alignment, race, uninitialized, barrier, collective, async, proxy, limit, trap
  int32_t line = 0; // of the PTX text
  std::array<uint32_t, 3> block{}, thread{};
};

/// Generic addresses of memory that is not global; device pointers are addresses of the host, below these.
constexpr uint64_t SharedWindow = 1ull << 60;
constexpr uint64_t LocalWindow = 1ull << 61;
constexpr uint64_t ParameterWindow = 1ull << 62;
constexpr uint64_t WindowBytes = 1ull << 32;
/// Shared addresses start here, so that a null pointer is out of bounds.
constexpr uint32_t SharedBase = 1024;

/// Who accesses memory, and when, by the logical clock of its warp.
struct Actor {
  uint32_t block; // serial number, over all launches
  uint32_t clock;
  uint16_t warp, lane;
  int32_t line;
  const uint32_t *clocks;           // the latest moment of each warp of the block that is over for this one
  const uint32_t *fences = nullptr; // how many fences of each warp, to the asynchronous proxy, come before
  bool isAsync = false;             // a bulk copy, or a product by a warpgroup
};

enum class Access : uint8_t { Read, Write, Atomic };

/// The last accesses to a few bytes.
struct Cell {
  uint32_t writeBlock = 0, writeClock = 0;
  uint32_t readBlock = 0, readClock = 0; // or the index of a read set
  int32_t writeLine = 0, readLine = 0;
  uint32_t writeFences = 0;        // that the writer's warp had had
  uint16_t writer = 0, reader = 0; // warp * 32 + lane
  uint8_t writeAsync = 0;
  uint8_t writeAtomic = 0;
  uint8_t pending = 0;   // an asynchronous copy into it has not been waited for
  uint8_t manyLanes = 0; // of one warp have read it
  uint8_t readSet = 0;
  uint8_t manyBlocks = 0; // have read it
};

/// The last read by each warp of a block.
struct ReadSet {
  std::array<uint32_t, 32> clock{};
  std::array<uint8_t, 32> lane{}; // 255: several
};

/// Cells of a stretch of memory, each for 4 bytes until a narrower access comes.
class Shadow {
public:
  explicit Shadow(size_t bytes = 0) : bytes_(bytes) {}
  void resize(size_t bytes);
  /// Checks an access and notes it. `same` says that a write does not change what is there. Throws Fault.
  void note(size_t offset, uint32_t bytes, Access access, const Actor &actor, uint32_t firstBlockOfLaunch, bool same,
            bool mustBeWritten, std::vector<ReadSet> &sets);
  void setPending(size_t offset, uint32_t bytes, bool pending);

private:
  void refine(int shift);
  size_t bytes_;
  int shift_ = 2;
  std::vector<Cell> cells_;
};

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
  void beginLaunch(uint64_t blocks, bool races, uint32_t sharedBytes);
  uint32_t beginBlock(); // serial number

  /// The host address of an access to global memory; checks bounds and alignment, notes it. Throws Fault.
  /// A read may begin inside and end past a range: LLVM widens loads so, and since it is aligned to its size it cannot
  /// leave a page. What is past the end reads as ones, a NaN, so that a use of it shows.
  char *global(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written = nullptr);
  /// The same for shared memory of the current block; `address` counts from SharedBase.
  char *shared(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written = nullptr);
  char *sharedWithoutNote(uint64_t address, uint32_t bytes);
  void setPending(uint64_t sharedAddress, uint32_t bytes, bool pending);
  bool races() const { return races_; }
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
  uint32_t nextBlock_ = 1, firstBlock_ = 1;
  bool races_ = true;
  std::vector<char> shared_;
  Shadow sharedShadow_;
  std::vector<ReadSet> sets_;
  char beyond_[64];
};

} // namespace hlo::emulator
