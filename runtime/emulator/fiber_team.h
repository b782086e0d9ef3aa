// The threads of a block as fibers, and who goes on: what fibers.h hides.
#pragma once

#include "fiber_switch.h"
#include "fibers.h"
#include "lanes.h"
#include "tensor_map.h"

#include <array>
#include <map>

namespace hlo::emulator {

constexpr size_t StackBytes = 128 << 10;

struct FiberCopy {
  char *to;
  const char *from;
  uint32_t bytes, copied, group;
};

/// A thread of the block.
struct Fiber {
  enum State : uint8_t { New, Ready, AtOperation, AtBarrier, AtPhase, AtProduct, Done } state = New;
  StackPosition position;
  char *stack = nullptr;
  // What it waits for.
  const void *site = nullptr;
  const WarpOperation *operation = nullptr;
  uint64_t *values = nullptr; // a slot for each operand
  Mask members = 0;
  int32_t barrier = 0;
  uint32_t barrierThreads = 0;
  std::vector<FiberCopy> copies;
  uint32_t group = 0; // of the next asynchronous copy
  uint64_t phaseBarrier = 0;
  uint32_t parity = 0;
  uint64_t product = 0; // as unpackWarpgroupMultiply reads it
  uint32_t *sums = nullptr;
  const uint32_t *held = nullptr; // the left factors, where registers have them
  uint64_t left = 0, right = 0;   // descriptors
};

/// A copy of a tile that takes effect when its barrier is waited for.
struct FiberTile {
  TensorMap map;
  std::array<int32_t, MostDimensions> coordinates;
  char *to;
};

/// A barrier in shared memory.
struct FiberPhases {
  uint32_t expected;
  int64_t pending; // arrivals
  int64_t bytes = 0;
  uint32_t phase = 0;
  std::vector<FiberTile> tiles;
  void endIfDone() {
    if (pending == 0 && bytes == 0) {
      ++phase;
      pending = expected;
    }
  }
};

/// The threads of the block that runs, and who goes on.
class Team {
public:
  Team(const FiberLaunch &launch, const std::vector<WarpOperation> &operations, Memory &memory);
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  uint64_t run();

  /// Whether the launch names these bytes, and may write them if it does.
  bool mayAccess(uint64_t begin, uint64_t bytes, Access access) {
    const std::vector<Range> &ranges = memory.ranges();
    auto holds = [&](const Range &range) {
      return begin >= range.begin && begin + bytes <= range.end && (access == Access::Read || range.writable);
    };
    for (uint32_t known : lately)
      if (known < ranges.size() && holds(ranges[known]))
        return true;
    auto after = std::upper_bound(ranges.begin(), ranges.end(), begin,
                                  [](uint64_t address, const Range &range) { return address < range.begin; });
    if (after == ranges.begin() || !holds(*std::prev(after)))
      return false;
    lately[oldest++ % lately.size()] = static_cast<uint32_t>(std::prev(after) - ranges.begin());
    return true;
  }

  // For the running fiber.
  [[noreturn]] void fail(const Fault &fault);
  void wait(Fiber::State state);

  const FiberLaunch &launch;
  const std::vector<WarpOperation> &operations;
  Memory &memory;
  Block block{};
  std::vector<Fiber> fibers;
  std::map<uint64_t, FiberPhases> phases; // by address
  uint32_t current = 0;                   // thread
  std::vector<void *> arguments;

private:
  static void start();
  bool backwards() const { return launch.schedule == 1 || launch.schedule == 3; }
  bool greedy() const { return launch.schedule == 2 || launch.schedule == 3; }
  bool atRandom() const { return launch.schedule > 3; }
  void runBlock();
  bool runLanes(int warp);
  void enter(uint32_t thread);
  bool complete(int warp);
  void perform(int warp, const WarpOperation &operation, Mask active);
  bool releaseBarrier();
  bool releasePhases();
  bool isOver(FiberPhases &barrier, uint32_t parity);
  bool multiplyWarpgroups();
  const char *sharedPiece(uint32_t address) const;
  [[noreturn]] void deadlock();
  std::pair<uint32_t, uint32_t> threadsOf(int warp) const {
    return {warp * Lanes, std::min<uint32_t>(block.threads, (warp + 1) * Lanes)};
  }

  int warps = 0;
  StackPosition scheduler;
  std::mt19937_64 random;
  std::vector<uint64_t> registers;
  Warp lanes; // the values of a warp operation, as the interpreter's handlers take them
  bool failed = false;
  Fault failure{"", ""};
  uint64_t entered = 0;
  std::array<uint32_t, 4> lately{}; // ranges that were accessed
  uint32_t oldest = 0;
};

extern Team *team; // that runs: what it is must be known to functions that code calls by name

inline Fiber &self() { return team->fibers[team->current]; }

/// Checks an access of the running fiber as the interpreter does, and ends the launch if it is wrong.
void checkAccess(const char *address, uint64_t bytes, uint64_t alignment, Access access);

/// What code of sm_90a calls: name and address.
void addPhaseSymbols(std::vector<std::pair<const char *, void *>> &symbols);

} // namespace hlo::emulator
