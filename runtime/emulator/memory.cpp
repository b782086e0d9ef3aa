#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace hlo::emulator {

namespace {

constexpr uint64_t Alignment = 256;

} // namespace

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

void Memory::beginLaunch(bool races, uint32_t sharedBytes) {
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
  if (timeline_.nearlyFull()) { // the numbers start again: forget who touched what
    timeline_.restart();
    for (auto &[begin, allocation] : allocations_)
      allocation.shadow.resize(std::max<uint64_t>(allocation.bytes, 1));
    sharedShadow_.resize(shared_.size());
  }
  releases_.clear();
  timeline_.beginLaunch();
  if (shared_.size() != sharedBytes) {
    shared_.assign(sharedBytes, 0);
    sharedShadow_.resize(sharedBytes);
  }
}

void Memory::beginBlock() {
  std::fill(shared_.begin(), shared_.end(), static_cast<char>(0xA5));
  timeline_.beginBlock();
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

void Memory::note(const Range *range, uint64_t address, uint32_t bytes, Access access, const Actor &actor, bool same) {
  if (range)
    range->allocation->shadow.note(address - range->allocation->begin, bytes, access, actor, same, false, timeline_);
  else
    sharedShadow_.note(address - SharedBase, bytes, access, actor, same, true, timeline_);
}

void Memory::noteReads(const Range *range, const uint64_t *addresses, const uint8_t *lanes, int count, uint32_t bytes,
                       Actor actor, int &at) {
  Shadow &shadow = range ? range->allocation->shadow : sharedShadow_;
  const uint64_t origin = range ? range->allocation->begin : SharedBase;
  for (at = 0; at < count; ++at) {
    actor.lane = lanes[at];
    shadow.note(addresses[at] - origin, bytes, Access::Read, actor, false, !range, timeline_);
  }
}

const Range *Memory::holds(uint64_t begin, uint64_t end, bool writes) {
  const Range *range = find(begin);
  return range && begin <= end && end <= range->end && (range->writable || !writes) ? range : nullptr;
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
    if (fits)
      note(range, address, bytes, access, actor, same);
    else
      for (uint32_t k = 0; k < inside; ++k)
        note(range, address + k, 1, access, actor, same);
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
    note(nullptr, address, bytes, access, actor, same);
  }
  return data;
}

void Memory::setPending(uint64_t address, uint32_t bytes, bool pending) {
  if (races_)
    sharedShadow_.setPending(address - SharedBase, bytes, pending);
}

} // namespace hlo::emulator
