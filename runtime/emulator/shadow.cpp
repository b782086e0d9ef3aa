#include "shadow.h"

#include <algorithm>

namespace hlo::emulator {

namespace {

std::string threadName(uint32_t warp, uint32_t lane) {
  return "thread " + std::to_string(lane) + " of warp " + std::to_string(warp);
}

[[noreturn]] void race(const char *what, Access access, const std::string &other, int32_t line) {
  throw Fault("race", std::string(verb(access)) + " bytes that " + other + " " + what + " at line " +
                          std::to_string(line) + ", with no barrier between");
}

/// Whether what a lane of a warp did at a moment of this epoch is over for the actor.
bool isOver(const Moment &moment, uint32_t lane, const Actor &actor) {
  if (moment.warp == actor.warp)
    return lane == actor.lane || moment.clock < actor.clock;
  return moment.clock <= actor.clocks[moment.warp];
}

void checkWrite(const Cell &cell, Access access, const Actor &actor, uint32_t first, const Timeline &timeline) {
  if (cell.write < first)
    return;
  if (cell.write < timeline.block() && !timeline.isAcquired(cell.write))
    race("has written", access, "block number " + std::to_string(timeline.blockOf(cell.write)), cell.writeLine);
  if (cell.write < timeline.epoch())
    return;
  const uint32_t lane = cell.writer % 32;
  if (!isOver(timeline.at(cell.write), lane, actor))
    race("has written", access, threadName(cell.writer / 32, lane), cell.writeLine);
}

void checkReads(const Cell &cell, Access access, const Actor &actor, uint32_t first, const Timeline &timeline) {
  if (cell.read < first)
    return;
  if (cell.flags & Cell::ManyBlocks || (cell.read < timeline.block() && !timeline.isAcquired(cell.read)))
    race("has read", access, "another block", cell.readLine);
  if (cell.read < timeline.epoch())
    return;
  if (!(cell.flags & Cell::ManyWarps)) {
    const Moment &moment = timeline.at(cell.read);
    if (!isOver(moment, cell.reader, actor))
      race("has read", access,
           cell.reader == Cell::SeveralLanes ? "warp " + std::to_string(moment.warp)
                                             : threadName(moment.warp, cell.reader),
           cell.readLine);
    return;
  }
  const ReadSet &set = timeline.set(cell.set);
  for (uint32_t rest = set.warps; rest; rest &= rest - 1) {
    const uint32_t warp = static_cast<uint32_t>(__builtin_ctz(rest));
    if (!isOver({set.clock[warp], warp}, set.lane[warp], actor))
      race("has read", access, "warp " + std::to_string(warp), cell.readLine);
  }
}

void addTo(ReadSet &set, uint32_t warp, uint32_t clock, uint8_t lane) {
  const uint32_t bit = 1u << warp;
  const bool again = set.warps & bit && set.clock[warp] == clock && set.lane[warp] != lane;
  set.warps |= bit;
  set.clock[warp] = clock;
  set.lane[warp] = again ? Cell::SeveralLanes : lane;
}

/// Notes a read after those of the cell.
void noteRead(Cell &cell, const Actor &actor, uint32_t first, Timeline &timeline) {
  const uint8_t lane = static_cast<uint8_t>(actor.lane);
  const uint32_t before = cell.read;
  cell.flags &= ~Cell::Recheck;
  cell.readLine = actor.line;
  cell.read = actor.moment;
  if (before < timeline.epoch()) {
    if (before < first)
      cell.flags &= ~Cell::ManyBlocks;
    else if (before < timeline.block())
      cell.flags |= Cell::ManyBlocks;
    cell.flags &= ~Cell::ManyWarps;
    cell.reader = lane;
    return;
  }
  if (cell.flags & Cell::ManyWarps) {
    ReadSet &set = timeline.set(cell.set);
    addTo(set, actor.warp, actor.clock, lane);
    cell.reader = set.lane[actor.warp];
    return;
  }
  if (before == actor.moment) {
    cell.reader = cell.reader == lane ? lane : Cell::SeveralLanes;
    return;
  }
  const Moment &moment = timeline.at(before);
  if (moment.warp != actor.warp && !isOver(moment, cell.reader, actor)) {
    cell.flags |= Cell::ManyWarps;
    cell.set = timeline.newSet();
    ReadSet &set = timeline.set(cell.set);
    addTo(set, moment.warp, moment.clock, cell.reader);
    addTo(set, actor.warp, actor.clock, lane);
  }
  cell.reader = lane;
}

} // namespace

const char *verb(Access access) {
  return access == Access::Read ? "reads" : access == Access::Write ? "writes" : "updates";
}

void Timeline::beginLaunch() {
  launch_ = next_;
  blocks_.clear();
  beginEpoch();
}

void Timeline::beginBlock() {
  blocks_.push_back(next_);
  acquired_.clear();
  arriving_.clear();
  beginEpoch();
}

bool Timeline::isAcquired(uint32_t moment) const {
  return std::any_of(acquired_.begin(), acquired_.end(), [&](const Acquired &acquired) {
    const auto first = acquired.releases->begin(), last = first + static_cast<ptrdiff_t>(acquired.count);
    const auto after = std::upper_bound(first, last, moment, [](uint32_t m, const Stretch &s) { return m < s.begin; });
    return after != first && moment < std::prev(after)->end;
  });
}

void Timeline::beginEpoch() {
  acquired_.insert(acquired_.end(), arriving_.begin(), arriving_.end());
  arriving_.clear();
  epoch_ = next_;
  recent_.clear();
  setCount_ = 0;
}

uint32_t Timeline::begin(uint32_t warp, uint32_t clock) {
  if (next_ == UINT32_MAX)
    throw Fault("limit", "there are more barriers than the interpreter can tell apart in a launch");
  recent_.push_back({clock, warp});
  return next_++;
}

uint32_t Timeline::newSet() {
  if (setCount_ == sets_.size())
    sets_.resize(std::max<size_t>(64, 2 * sets_.size()));
  sets_[setCount_].warps = 0;
  return setCount_++;
}

size_t Timeline::blockOf(uint32_t moment) const {
  return static_cast<size_t>(std::upper_bound(blocks_.begin(), blocks_.end(), moment) - blocks_.begin()) - 1;
}

void Shadow::resize(size_t bytes) {
  pages_.clear();
  pages_.resize(bytes / PageBytes + 1);
}

void Shadow::refine(Page &page, uint32_t bytes) {
  const int shift = __builtin_ctz(std::min(bytes, Coarsest));
  auto finer = std::make_unique<Cell[]>(PageBytes >> shift);
  if (page.cells)
    for (size_t i = 0; i < PageBytes >> shift; ++i)
      finer[i] = page.cells[i >> (page.shift - shift)];
  page.cells = std::move(finer);
  page.shift = shift;
}

void Shadow::setPending(size_t offset, uint32_t bytes, bool pending) {
  for (const size_t end = offset + bytes; offset < end;) {
    Page &page = pages_[offset / PageBytes];
    if (!page.cells)
      refine(page, Coarsest);
    uint8_t &flags = page.cells[offset % PageBytes >> page.shift].flags;
    flags = static_cast<uint8_t>(pending ? flags | Cell::Pending : flags & ~Cell::Pending);
    offset += size_t{1} << page.shift;
  }
}

void Shadow::check(Cell &cell, Access access, const Actor &actor, bool same, bool isShared, Timeline &timeline) {
  const uint32_t block = timeline.block(), first = isShared ? block : timeline.launch();
  if (cell.write >= block && cell.flags & Cell::Pending)
    throw Fault("async", std::string(verb(access)) + " bytes that an asynchronous copy (line " +
                             std::to_string(cell.writeLine) + ") is still writing: nobody has waited for it");
  if (isShared && access != Access::Write && cell.write < block)
    throw Fault("uninitialized", std::string(verb(access)) + " shared memory that no thread has written");
  if (actor.isAsync && cell.write >= block && !(cell.flags & Cell::WriteAsync) &&
      actor.fences[cell.writer / 32] <= cell.writeFences)
    throw Fault("proxy", std::string(verb(access)) + " asynchronously bytes that " +
                             threadName(cell.writer / 32, cell.writer % 32) + " has written at line " +
                             std::to_string(cell.writeLine) + ", with no fence.proxy.async after it");
  const bool isAtomic = access == Access::Atomic, unchanged = access == Access::Write && same;
  if (!unchanged && !(isAtomic && cell.flags & Cell::WriteAtomic))
    checkWrite(cell, access, actor, first, timeline);
  if (access == Access::Read)
    return noteRead(cell, actor, first, timeline);
  if (!unchanged)
    checkReads(cell, access, actor, first, timeline);
  // Who comes after an ordinary write that was checked comes after the reads before it too.
  const uint8_t kept =
      unchanged || isAtomic ? (cell.flags & (Cell::ManyBlocks | Cell::ManyWarps)) | Cell::Recheck : uint8_t{0};
  if (!kept)
    cell.read = 0;
  cell.flags = static_cast<uint8_t>(kept | (isAtomic ? Cell::WriteAtomic : 0) | (actor.isAsync ? Cell::WriteAsync : 0));
  cell.write = actor.moment;
  cell.writer = static_cast<uint16_t>(actor.warp * 32 + actor.lane);
  cell.writeLine = actor.line;
  cell.writeFences = actor.fences ? actor.fences[actor.warp] : 0;
}

} // namespace hlo::emulator
