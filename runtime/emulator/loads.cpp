// Loads and stores. Compiled for several instruction sets (CMakeLists.txt).

#include "transfers.h"

#include <algorithm>

namespace hlo::emulator {

namespace HLO_EMULATOR_LEVEL {

namespace {

template <typename T> uint64_t widened(const char *from, bool isSigned) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<std::make_signed_t<T>>(value))) : value;
}

/// Of fixed sizes: a copy of a size that is not known would be read back wider than it was written, and stall.
uint64_t readElement(const char *from, uint32_t bytes, bool isSigned) {
  switch (bytes) {
  case 1:
    return widened<uint8_t>(from, isSigned);
  case 2:
    return widened<uint16_t>(from, isSigned);
  case 4:
    return widened<uint32_t>(from, isSigned);
  default:
    return widened<uint64_t>(from, false);
  }
}

void writeElement(char *to, uint32_t bytes, uint64_t value) {
  switch (bytes) {
  case 1:
    *to = static_cast<char>(value);
    break;
  case 2:
    std::memcpy(to, &value, 2);
    break;
  case 4:
    std::memcpy(to, &value, 4);
    break;
  default:
    std::memcpy(to, &value, 8);
  }
}

/// Addresses of all lanes, of which none can fault: in one range of global memory or in shared memory, and aligned.
struct SafeAddresses {
  uint64_t at[Lanes]; // those of inactive lanes are the first active one's
  const Range *range; // of global memory
  char *origin;       // to be added to an address
  bool noted;         // what is done there
};

/// False if there may be a fault, or the space is another.
bool findSafe(Warp &warp, const Instruction &i, Mask active, uint32_t space, uint32_t bytes, bool writes,
              SafeAddresses &found) {
  if (space != Global && space != Shared)
    return false;
  const uint64_t offset = static_cast<uint64_t>(i.immediate);
  const Operand &operand = i.operands[0];
  if (operand.width == 4) {
    const uint32_t *base = warp.values<uint32_t>(operand);
    for (int l = 0; l < Lanes; ++l)
      found.at[l] = base[l] + offset;
  } else {
    const uint64_t *base = warp.values<uint64_t>(operand);
    for (int l = 0; l < Lanes; ++l)
      found.at[l] = base[l] + offset;
  }
  if (active != AllLanes) {
    const uint64_t first = found.at[__builtin_ctz(active)];
    for (int l = 0; l < Lanes; ++l)
      found.at[l] = active >> l & 1 ? found.at[l] : first;
  }
  uint64_t least = found.at[0], most = least, low = least;
  for (int l = 1; l < Lanes; ++l) {
    least = std::min(least, found.at[l]);
    most = std::max(most, found.at[l]);
    low |= found.at[l];
  }
  if (low & (bytes - 1) || most > UINT64_MAX - bytes)
    return false;
  Memory &memory = *warp.block->memory;
  if (space == Shared) {
    found.range = nullptr;
    found.origin = memory.sharedOrigin();
    found.noted = memory.races();
    return memory.sharedHolds(least, most + bytes);
  }
  found.range = memory.holds(least, most + bytes, writes);
  found.origin = nullptr;
  found.noted = found.range && found.range->writable && memory.races(); // what nobody may write needs no notes
  return found.range;
}

/// Notes what lanes read, once for those that read the same.
void noteReads(Warp &warp, const Instruction &i, Mask active, const SafeAddresses &safe, uint32_t bytes) {
  constexpr uint32_t Slots = 64;
  uint8_t lanes[Lanes], last[Lanes], held[Slots];
  uint64_t seen[Slots], distinct[Lanes];
  uint64_t taken = 0; // a bit a slot
  int count = 0;
  const int shift = __builtin_ctz(bytes);
  for (Mask rest = active; rest; rest &= rest - 1) {
    const uint8_t lane = static_cast<uint8_t>(__builtin_ctz(rest));
    const uint64_t address = safe.at[lane], slot = (address >> shift ^ address >> (shift + 6)) % Slots;
    if (taken >> slot & 1 && seen[slot] == address) {
      lanes[held[slot]] = Cell::SeveralLanes;
      last[held[slot]] = lane;
      continue;
    }
    taken |= uint64_t{1} << slot;
    seen[slot] = address;
    held[slot] = static_cast<uint8_t>(count);
    distinct[count] = address;
    lanes[count] = last[count] = lane;
    ++count;
  }
  int at = 0;
  try {
    warp.block->memory->noteReads(safe.range, distinct, lanes, count, bytes, warp.actor(0, i.line), at);
  } catch (Fault &fault) {
    locate(fault, warp, i, last[at]);
    throw;
  }
}

/// Registers of lanes that hold the elements of an access; `spare` for one that is not wanted. False if one is of
/// another width.
template <typename T, int N> bool findRegisters(Warp &warp, const Instruction &i, T *(&registers)[N], T *spare) {
  for (int k = 0; k < N; ++k) {
    const Operand &operand = i.operands[k + 1];
    if (operand.width >= 0 && operand.width != sizeof(T))
      return false;
    registers[k] = operand.width < 0 ? spare : const_cast<T *>(warp.values<T>(operand));
  }
  return true;
}

template <typename T, int N> bool loadSafe(Warp &warp, const Instruction &i, Mask active, uint32_t space) {
  constexpr uint32_t bytes = N * sizeof(T);
  T *to[N], spare[Lanes];
  SafeAddresses safe;
  if (!findRegisters<T, N>(warp, i, to, spare) || !findSafe(warp, i, active, space, bytes, false, safe))
    return false;
  if (safe.noted)
    noteReads(warp, i, active, safe, bytes);
  for (Mask rest = active; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    T elements[N];
    std::memcpy(elements, safe.origin + safe.at[lane], bytes);
    for (int k = 0; k < N; ++k)
      to[k][lane] = elements[k];
  }
  return true;
}

template <typename T, int N> bool storeSafe(Warp &warp, const Instruction &i, Mask active, uint32_t space) {
  constexpr uint32_t bytes = N * sizeof(T);
  T *from[N], spare[Lanes];
  SafeAddresses safe;
  if (!findRegisters<T, N>(warp, i, from, spare) || !findSafe(warp, i, active, space, bytes, true, safe))
    return false;
  Memory &memory = *warp.block->memory;
  Actor actor = warp.actor(0, i.line);
  located(warp, i, active, [&](int lane) {
    T elements[N];
    for (int k = 0; k < N; ++k)
      elements[k] = from[k][lane];
    char *to = safe.origin + safe.at[lane];
    if (safe.noted) {
      actor.lane = static_cast<uint16_t>(lane);
      memory.note(safe.range, safe.at[lane], bytes, Access::Write, actor, std::memcmp(to, elements, bytes) == 0);
    }
    std::memcpy(to, elements, bytes);
  });
  return true;
}

/// Calls `f` with the type and the number of elements of an access, where those are frequent ones.
template <template <typename, int> class F>
bool byShape(uint32_t size, int count, Warp &warp, const Instruction &i, Mask active, uint32_t space) {
  switch (size << 4 | static_cast<uint32_t>(count)) {
  case 0x21:
    return F<uint16_t, 1>::run(warp, i, active, space);
  case 0x41:
    return F<uint32_t, 1>::run(warp, i, active, space);
  case 0x42:
    return F<uint32_t, 2>::run(warp, i, active, space);
  case 0x44:
    return F<uint32_t, 4>::run(warp, i, active, space);
  case 0x81:
    return F<uint64_t, 1>::run(warp, i, active, space);
  case 0x82:
    return F<uint64_t, 2>::run(warp, i, active, space);
  default:
    return false;
  }
}
template <typename T, int N> struct Load {
  static constexpr auto run = loadSafe<T, N>;
};
template <typename T, int N> struct Store {
  static constexpr auto run = storeSafe<T, N>;
};

/// Operands: the address, then a register for each element; one of width -1 is not wanted.
void load(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
  if (byShape<Load>(detail.bytes, i.operandCount - 1, warp, i, active, detail.space))
    return;
  const int count = i.operandCount - 1;
  const uint32_t size = detail.bytes, bytes = size * count;
  uint64_t value[8][Lanes];
  Actor actor = warp.actor(0, i.line);
  located(warp, i, active, [&](int lane) {
    actor.lane = static_cast<uint16_t>(lane);
    const uint64_t address = laneAddress(warp, i.operands[0], i.immediate, lane);
    const char *from = access(warp, detail.space, address, bytes, Access::Read, actor);
    for (int k = 0; k < count; ++k)
      value[k][lane] = readElement(from + k * size, size, detail.isSigned);
  });
  for (int k = 0; k < count; ++k)
    if (i.operands[k + 1].width > 0)
      storeRaw(warp, i.operands[k + 1], value[k], active);
}

void store(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
  if (warp.products.empty() && byShape<Store>(detail.bytes, i.operandCount - 1, warp, i, active, detail.space))
    return;
  const int count = i.operandCount - 1;
  const uint32_t size = detail.bytes, bytes = size * count;
  uint64_t value[8][Lanes];
  for (int k = 0; k < count; ++k)
    loadRaw(warp, i.operands[k + 1], value[k]);
  Actor actor = warp.actor(0, i.line);
  located(warp, i, active, [&](int lane) {
    if (!warp.products.empty())
      for (int k = 0; k < count; ++k)
        if (isPendingSum(warp, static_cast<uint32_t>(value[k][lane])))
          throw Fault("async", "stores a sum of a product that it has not waited for");
    char data[64];
    for (int k = 0; k < count; ++k)
      writeElement(data + k * size, size, value[k][lane]);
    actor.lane = static_cast<uint16_t>(lane);
    const uint64_t address = laneAddress(warp, i.operands[0], i.immediate, lane);
    char *to = access(warp, detail.space, address, bytes, Access::Write, actor, data);
    for (int k = 0; k < count; ++k)
      writeElement(to + k * size, size, value[k][lane]);
  });
}

} // namespace

void addLoads(HandlerTable &t) {
  t["ld"] = load;
  t["st"] = store;
}

} // namespace HLO_EMULATOR_LEVEL

} // namespace hlo::emulator
