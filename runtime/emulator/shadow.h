// Who touched each byte of memory last, from which data races and reads of unwritten memory follow.
//
// A *moment* is a stretch of a warp's life between two ticks of its clock. Moments are numbered as they begin, over all
// launches of a Memory, and blocks of a launch run one after the other. So a number alone mostly says whether what was
// done then is over for who runs now: before the launch, it is; before the block, it is not, since blocks of a launch
// are not ordered; before the last barrier that all of the block came to, it is. Only moments after that barrier are
// looked up, and compared with what the warp knows of other warps' clocks.
//
// Blocks are ordered by fences and atomic operations alone. What a block did before a barrier of all of it, a thread
// releases that goes on to a fence and then an atomic operation. A thread of another block acquires it that makes an
// atomic operation on the same address later, and then a fence: it is over for that block behind its next barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

/// Who accesses memory, and when.
struct Actor {
  uint32_t moment;
  uint32_t clock; // of its warp
  uint16_t warp, lane;
  int32_t line;
  const uint32_t *clocks;           // the latest clock of each warp of the block that is over for this one
  const uint32_t *fences = nullptr; // how many fences of each warp, to the asynchronous proxy, come before
  bool isAsync = false;             // a bulk copy, or a product by a warpgroup
};

enum class Access : uint8_t { Read, Write, Atomic };
const char *verb(Access access);

struct Moment {
  uint32_t clock;
  uint32_t warp;
};

/// The last read by each warp, of those in `warps`.
struct ReadSet {
  uint32_t warps;
  std::array<uint32_t, 32> clock;
  std::array<uint8_t, 32> lane;
};

/// Moments of a block, from the first to before the last.
struct Stretch {
  uint32_t begin, end;
};
/// What blocks have released by atomic operations on one address, in order.
using Releases = std::vector<Stretch>;
struct Acquired {
  const Releases *releases;
  size_t count; // of the first ones
};

/// Moments of a launch.
class Timeline {
public:
  uint32_t launch() const { return launch_; } // its first moment
  uint32_t block() const { return blocks_.empty() ? launch_ : blocks_.back(); }
  uint32_t epoch() const { return epoch_; } // what comes before it, in this block, is over for all of the block

  void beginLaunch();
  void beginBlock();
  /// After a barrier that all threads of the block have come to.
  void beginEpoch();
  /// The number of the moment that begins now. Throws Fault if there are too many.
  uint32_t begin(uint32_t warp, uint32_t clock);
  /// Of a moment of this epoch.
  const Moment &at(uint32_t moment) const { return recent_[moment - epoch_]; }
  /// Which of the launch's blocks a moment belongs to.
  size_t blockOf(uint32_t moment) const;
  /// Whether a moment of an earlier block of this launch is over for all of this block.
  bool isAcquired(uint32_t moment) const;
  /// After the block's next barrier they are.
  void acquire(const Acquired &releases) { arriving_.push_back(releases); }
  bool nearlyFull() const { return next_ > UINT32_MAX / 2; }
  void restart() { *this = Timeline(); }

  /// Sets of this epoch, by their numbers.
  uint32_t newSet();
  ReadSet &set(uint32_t number) { return sets_[number]; }
  const ReadSet &set(uint32_t number) const { return sets_[number]; }

private:
  uint32_t launch_ = 1, epoch_ = 1, next_ = 1;
  std::vector<Moment> recent_;
  std::vector<uint32_t> blocks_;
  std::vector<Acquired> acquired_, arriving_;
  std::vector<ReadSet> sets_; // the first setCount_ are in use
  uint32_t setCount_ = 0;
};

/// The last accesses to a few bytes.
struct Cell {
  enum Flag : uint8_t {
    Pending = 1,     // an asynchronous copy into it has not been waited for
    WriteAsync = 2,  //
    WriteAtomic = 4, //
    ManyBlocks = 8,  // of this launch have read it
    ManyWarps = 16,  // of this epoch have read it: `set` knows
    Recheck = 32,    // written since it was read
  };
  static constexpr uint8_t SeveralLanes = 255;
  uint32_t write = 0, read = 0; // the latest moment of each, 0 for none
  int32_t writeLine = 0, readLine = 0;
  uint32_t writeFences = 0; // that the writer's warp had had
  uint32_t set = 0;
  uint16_t writer = 0; // warp * 32 + lane
  uint8_t reader = 0;  // its lane, or SeveralLanes of its warp
  uint8_t flags = 0;
};

/// Cells of a stretch of memory, in pages: those of a page each for as many bytes, at most 16, as all accesses to it
/// have been multiples of.
class Shadow {
public:
  explicit Shadow(size_t bytes = 0) { resize(bytes); }
  void resize(size_t bytes);
  /// Checks an access to bytes that do not cross a multiple of a power of two, and notes it. `isShared`: of the block's
  /// own memory, to be written before it is read. `same` says that a write does not change what is there. Throws Fault.
  void note(size_t offset, uint32_t bytes, Access access, const Actor &actor, bool same, bool isShared,
            Timeline &timeline) {
    Page &page = pages_[offset / PageBytes];
    if (bytes >> page.shift == 0)
      refine(page, bytes);
    Cell *cell = page.cells.get() + (offset % PageBytes >> page.shift);
    const Cell *end = cell + (bytes >> page.shift);
    if (access != Access::Read || actor.isAsync) {
      for (; cell != end; ++cell)
        check(*cell, access, actor, same, isShared, timeline);
      return;
    }
    for (; cell != end; ++cell) {
      if (cell->read == actor.moment && !(cell->flags & (Cell::Recheck | Cell::Pending))) {
        if (cell->reader == actor.lane || cell->reader == Cell::SeveralLanes)
          continue;
        if (cell->write != actor.moment && !(cell->flags & Cell::ManyWarps)) {
          cell->reader = Cell::SeveralLanes;
          continue;
        }
      }
      check(*cell, access, actor, same, isShared, timeline);
    }
  }
  void setPending(size_t offset, uint32_t bytes, bool pending);

private:
  static constexpr size_t PageBytes = 1024;
  static constexpr uint32_t Coarsest = 16; // bytes
  struct Page {
    int shift = 31; // a cell is for 2^shift bytes; none yet
    std::unique_ptr<Cell[]> cells;
  };
  static void refine(Page &page, uint32_t bytes);
  static void check(Cell &cell, Access access, const Actor &actor, bool same, bool isShared, Timeline &timeline);
  std::vector<Page> pages_;
};

} // namespace hlo::emulator
