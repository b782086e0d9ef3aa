#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace hlo::emulator {

namespace {

constexpr uint64_t Alignment = 256;
constexpr uint8_t SeveralLanes = 255;

std::string threadName(uint16_t thread) {
  return "thread " + std::to_string(thread % 32) + " of warp " + std::to_string(thread / 32);
}

const char *verb(Access access) {
  return access == Access::Read ? "reads" : access == Access::Write ? "writes" : "updates";
}

[[noreturn]] void race(const char *what, Access access, const std::string &other, int32_t line) {
  throw Fault("race", std::string(verb(access)) + " bytes that " + other + " " + what + " at line " +
                          std::to_string(line) + ", with no barrier between");
}

} // namespace

void Shadow::resize(size_t bytes) {
  bytes_ = bytes;
  cells_.clear();
}

void Shadow::refine(int shift) {
  std::vector<Cell> finer(((bytes_ - 1) >> shift) + 1);
  for (size_t i = 0; i < finer.size(); ++i)
    finer[i] = cells_[i >> (shift_ - shift)];
  cells_ = std::move(finer);
  shift_ = shift;
}

void Shadow::setPending(size_t offset, uint32_t bytes, bool pending) {
  for (size_t i = offset >> shift_; i <= (offset + bytes - 1) >> shift_; ++i)
    cells_[i].pending = pending;
}

void Shadow::note(size_t offset, uint32_t bytes, Access access, const Actor &actor, uint32_t first, bool same,
                  bool mustBeWritten, std::vector<ReadSet> &sets) {
  if (cells_.empty())
    cells_.resize(((bytes_ - 1) >> shift_) + 1);
  if (bytes < (1u << shift_))
    refine(bytes == 1 ? 0 : 1);
  const uint16_t thread = actor.warp * 32 + actor.lane;
  // Whether what (warp, lane) did at `clock`, in this block, is over for the actor.
  auto over = [&](uint32_t warp, uint32_t lane, uint32_t clock) {
    if (warp == actor.warp)
      return lane == actor.lane || clock < actor.clock;
    return clock <= actor.clocks[warp];
  };
  for (size_t i = offset >> shift_; i <= (offset + bytes - 1) >> shift_; ++i) {
    Cell &cell = cells_[i];
    if (cell.pending && cell.writeBlock == actor.block)
      throw Fault("async", std::string(verb(access)) + " bytes that an asynchronous copy (line " +
                               std::to_string(cell.writeLine) + ") is still writing: nobody has waited for it");
    if (mustBeWritten && access != Access::Write && cell.writeBlock != actor.block)
      throw Fault("uninitialized", std::string(verb(access)) + " shared memory that no thread has written");
    if (actor.isAsync && cell.writeBlock == actor.block && !cell.writeAsync &&
        actor.fences[cell.writer / 32] <= cell.writeFences)
      throw Fault("proxy", std::string(verb(access)) + " asynchronously bytes that " + threadName(cell.writer) +
                               " has written at line " + std::to_string(cell.writeLine) +
                               ", with no fence.proxy.async after it");
    const bool written = cell.writeBlock >= first;
    const bool bothAtomic = access == Access::Atomic && cell.writeAtomic;
    if (written && !bothAtomic && !(access == Access::Write && same)) {
      if (cell.writeBlock != actor.block)
        race("has written", access, "block number " + std::to_string(cell.writeBlock - first), cell.writeLine);
      if (!over(cell.writer / 32, cell.writer % 32, cell.writeClock))
        race("has written", access, threadName(cell.writer), cell.writeLine);
    }
    if (access == Access::Read) {
      if (cell.readBlock < first) {
        cell.manyBlocks = cell.manyLanes = cell.readSet = 0;
      } else if (cell.readBlock != actor.block) {
        cell.manyBlocks = 1;
        cell.manyLanes = cell.readSet = 0;
      } else if (cell.readSet) {
        ReadSet &set = sets[cell.readClock];
        const bool again = set.clock[actor.warp] == actor.clock && set.lane[actor.warp] != actor.lane;
        set.clock[actor.warp] = actor.clock;
        set.lane[actor.warp] = again ? SeveralLanes : static_cast<uint8_t>(actor.lane);
        cell.readLine = actor.line;
        continue;
      } else if (cell.reader / 32 == actor.warp) {
        const bool again = cell.readClock == actor.clock && (cell.manyLanes || cell.reader != thread);
        cell.manyLanes = again;
      } else if (!over(cell.reader / 32, cell.reader % 32, cell.readClock)) {
        ReadSet set;
        set.clock[cell.reader / 32] = cell.readClock;
        set.lane[cell.reader / 32] = cell.manyLanes ? SeveralLanes : static_cast<uint8_t>(cell.reader % 32);
        set.clock[actor.warp] = actor.clock;
        set.lane[actor.warp] = static_cast<uint8_t>(actor.lane);
        cell.readSet = 1;
        cell.readClock = static_cast<uint32_t>(sets.size());
        cell.readLine = actor.line;
        sets.push_back(set);
        continue;
      } else {
        cell.manyLanes = 0;
      }
      cell.readBlock = actor.block;
      cell.readClock = actor.clock;
      cell.reader = thread;
      cell.readLine = actor.line;
      continue;
    }
    if (cell.readBlock >= first && !(access == Access::Write && same)) {
      if (cell.readBlock != actor.block || cell.manyBlocks)
        race("has read", access, "another block", cell.readLine);
      if (cell.readSet) {
        const ReadSet &set = sets[cell.readClock];
        for (uint32_t w = 0; w < 32; ++w)
          if (set.clock[w] && !over(w, set.lane[w], set.clock[w]))
            race("has read", access, "warp " + std::to_string(w), cell.readLine);
      } else if (!over(cell.reader / 32, cell.manyLanes ? SeveralLanes : cell.reader % 32, cell.readClock)) {
        race("has read", access, threadName(cell.reader), cell.readLine);
      }
    }
    cell.writeBlock = actor.block;
    cell.writeClock = actor.clock;
    cell.writer = thread;
    cell.writeLine = actor.line;
    cell.writeAtomic = access == Access::Atomic;
    cell.writeAsync = actor.isAsync;
    cell.writeFences = actor.fences ? actor.fences[actor.warp] : 0;
    cell.pending = 0;
  }
}

uint64_t Memory::allocate(uint64_t bytes, const std::string &name) {
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  Allocation made;
  made.storage = std::unique_ptr<char[]>(new char[size + Alignment]);
  std::memset(made.storage.get(), 0xA5, size + Alignment);
  made.begin = (reinterpret_cast<uint64_t>(made.storage.get()) + Alignment - 1) / Alignment * Alignment;
  made.bytes = bytes;
  made.name = name;
  made.shadow.resize(size);
  const uint64_t begin = made.begin;
  allocations_[begin] = std::move(made);
  allocated_ += bytes;
  return begin;
}

void Memory::adopt(uint64_t address, uint64_t bytes, const std::string &name) {
  Allocation known;
  known.begin = address;
  known.bytes = bytes;
  known.name = name;
  known.shadow.resize(std::max<uint64_t>(bytes, 1));
  allocations_[address] = std::move(known);
  allocated_ += bytes;
}

void Memory::release(uint64_t address) {
  auto found = allocations_.find(address);
  if (found == allocations_.end())
    throw Fault("bounds", "releases an address that is not the start of an allocation");
  allocated_ -= found->second.bytes;
  allocations_.erase(found);
}

char *Memory::at(uint64_t address, uint64_t bytes) {
  auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const Allocation &allocation = std::prev(after)->second;
    if (address + bytes <= allocation.begin + allocation.bytes)
      return reinterpret_cast<char *>(address);
  }
  char text[96];
  std::snprintf(text, sizeof text, "%llu bytes at 0x%llx are not in one allocation", (unsigned long long)bytes,
                (unsigned long long)address);
  throw Fault("bounds", text);
}

void Memory::restrict(const std::vector<std::tuple<uint64_t, uint64_t, bool>> &ranges) { restriction_ = ranges; }

void Memory::beginLaunch(uint64_t blocks, bool races, uint32_t sharedBytes) {
  ranges_.clear();
  last_ = 0;
  if (restriction_.empty()) {
    for (auto &[begin, allocation] : allocations_)
      ranges_.push_back({begin, begin + allocation.bytes, true, &allocation});
  } else {
    std::sort(restriction_.begin(), restriction_.end());
    for (const auto &[begin, bytes, writable] : restriction_) {
      if (bytes == 0)
        continue;
      at(begin, bytes);
      Allocation *allocation = &std::prev(allocations_.upper_bound(begin))->second;
      // Slices that share bytes are one; so that each address is found by one search.
      if (!ranges_.empty() && begin < ranges_.back().end) {
        ranges_.back().end = std::max(ranges_.back().end, begin + bytes);
        ranges_.back().writable |= writable;
      } else {
        ranges_.push_back({begin, begin + bytes, writable, allocation});
      }
    }
    restriction_.clear();
  }
  races_ = races;
  if (nextBlock_ + blocks > UINT32_MAX) { // serial numbers start again: forget who touched what
    nextBlock_ = 1;
    for (auto &[begin, allocation] : allocations_)
      allocation.shadow.resize(std::max<uint64_t>(allocation.bytes, 1));
    sharedShadow_.resize(shared_.size());
  }
  firstBlock_ = nextBlock_;
  if (shared_.size() != sharedBytes) {
    shared_.assign(sharedBytes, 0);
    sharedShadow_.resize(sharedBytes);
  }
}

uint32_t Memory::beginBlock() {
  std::fill(shared_.begin(), shared_.end(), static_cast<char>(0xA5));
  sets_.clear();
  return nextBlock_++;
}

void Memory::outOfBounds(uint64_t address, uint32_t bytes, Access access) const {
  // The last range that starts at or before the address, else the first one.
  const Range *nearest = nullptr;
  for (const Range &range : ranges_)
    if (!nearest || range.begin <= address)
      nearest = &range;
  char text[320];
  if (!nearest) {
    std::snprintf(text, sizeof text, "%s %u bytes at 0x%llx, but the launch may access no memory", verb(access), bytes,
                  (unsigned long long)address);
  } else {
    const bool inside = address >= nearest->begin && address < nearest->end;
    const long long distance =
        address < nearest->begin ? (long long)(nearest->begin - address) : (long long)(address + bytes - nearest->end);
    std::snprintf(text, sizeof text, "%s %u bytes at 0x%llx: %lld bytes %s the %llu bytes at 0x%llx of '%s'%s",
                  verb(access), bytes, (unsigned long long)address, distance,
                  address < nearest->begin ? "before" : "past", (unsigned long long)(nearest->end - nearest->begin),
                  (unsigned long long)nearest->begin, nearest->allocation->name.c_str(),
                  inside ? " (it begins inside)" : "");
  }
  throw Fault("bounds", text);
}

const Range *Memory::find(uint64_t address) {
  if (last_ < ranges_.size() && address >= ranges_[last_].begin && address < ranges_[last_].end)
    return &ranges_[last_];
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t value, const Range &range) { return value < range.begin; });
  if (after == ranges_.begin() || address >= std::prev(after)->end)
    return nullptr;
  last_ = static_cast<size_t>(std::prev(after) - ranges_.begin());
  return &ranges_[last_];
}

char *Memory::global(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written) {
  if (address & (bytes - 1)) // sizes are powers of two
    throw Fault("alignment", std::string(verb(access)) + " " + std::to_string(bytes) +
                                 " bytes of global memory at an address that is no multiple of it");
  const Range *range = find(address);
  const bool fits = range && address + bytes <= range->end;
  if (!range || (!fits && access != Access::Read))
    outOfBounds(address, bytes, access);
  char *data = reinterpret_cast<char *>(address);
  if (access != Access::Read && !range->writable)
    throw Fault("bounds", std::string(verb(access)) + " '" + range->allocation->name +
                              "', which the launch plan lets it only read");
  const uint32_t inside = fits ? bytes : static_cast<uint32_t>(range->end - address);
  if (races_ && range->writable) { // what nobody may write needs no notes
    const bool same = access == Access::Write && written && std::memcmp(data, written, bytes) == 0;
    Allocation &allocation = *range->allocation;
    if (fits) {
      allocation.shadow.note(address - allocation.begin, bytes, access, actor, firstBlock_, same, false, sets_);
    } else {
      for (uint32_t k = 0; k < inside; ++k)
        allocation.shadow.note(address - allocation.begin + k, 1, access, actor, firstBlock_, same, false, sets_);
    }
  }
  if (fits)
    return data;
  std::memset(beyond_, 0xFF, sizeof beyond_);
  std::memcpy(beyond_, data, inside);
  return beyond_;
}

char *Memory::sharedWithoutNote(uint64_t address, uint32_t bytes) {
  if (address & (bytes - 1)) // sizes are powers of two
    throw Fault("alignment", "accesses " + std::to_string(bytes) +
                                 " bytes of shared memory at an address that is no multiple of it");
  const uint64_t offset = address - SharedBase;
  if (address < SharedBase || offset + bytes > shared_.size())
    throw Fault("bounds", "accesses " + std::to_string(bytes) + " bytes of shared memory at offset " +
                              std::to_string(static_cast<int64_t>(offset)) + " of " + std::to_string(shared_.size()));
  return shared_.data() + offset;
}

char *Memory::shared(uint64_t address, uint32_t bytes, Access access, const Actor &actor, const char *written) {
  char *data = sharedWithoutNote(address, bytes);
  if (races_) {
    const bool same = access == Access::Write && written && std::memcmp(data, written, bytes) == 0;
    sharedShadow_.note(address - SharedBase, bytes, access, actor, actor.block, same, true, sets_);
  }
  return data;
}

void Memory::setPending(uint64_t address, uint32_t bytes, bool pending) {
  if (races_)
    sharedShadow_.setPending(address - SharedBase, bytes, pending);
}

} // namespace hlo::emulator
