// Loads, stores and address conversions.

#include "transfers.h"

namespace hlo::emulator {

char *access(Warp &warp, uint32_t space, uint64_t address, uint32_t bytes, Access kind, const Actor &actor,
             const char *written) {
  Memory &memory = *warp.block->memory;
  if (space == Generic) {
    if (address >= LocalWindow && address < LocalWindow + WindowBytes)
      return access(warp, Local, address - LocalWindow, bytes, kind, actor, written);
    if (address >= SharedWindow && address < SharedWindow + WindowBytes)
      return memory.shared(address - SharedWindow, bytes, kind, actor, written);
    if (address >= ParameterWindow && address < ParameterWindow + WindowBytes)
      return access(warp, Parameter, address - ParameterWindow, bytes, kind, actor, written);
    return memory.global(address, bytes, kind, actor, written);
  }
  if (space == Global)
    return memory.global(address, bytes, kind, actor, written);
  if (space == Shared)
    return memory.shared(address, bytes, kind, actor, written);
  if (space == Local) {
    const uint64_t size = static_cast<uint64_t>(warp.block->program->localBytes);
    if ((address & (bytes - 1)) || address + bytes > size)
      throw Fault(address & (bytes - 1) ? "alignment" : "bounds",
                  "accesses " + std::to_string(bytes) + " bytes of local memory at " + std::to_string(address) +
                      " of " + std::to_string(size));
    return warp.local.data() + size * actor.lane + address;
  }
  if (address + bytes > warp.block->parameterBytes)
    throw Fault("bounds", "reads past the kernel's parameters");
  return const_cast<char *>(warp.block->parameters) + address;
}

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

/// Operands: the address, then a register for each element; one of width -1 is not wanted.
void load(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
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

/// Adds (or, with a negative immediate, subtracts) the start of a window.
void convertAddress(Warp &warp, const Instruction &i, Mask active) {
  uint64_t value[Lanes];
  loadRaw(warp, i.operands[1], value);
  for (uint64_t &v : value)
    v += static_cast<uint64_t>(i.immediate);
  storeRaw(warp, i.operands[0], value, active);
}

void isSpace(Warp &warp, const Instruction &i, Mask active) {
  uint64_t value[Lanes];
  loadRaw(warp, i.operands[1], value);
  const uint32_t space = detailOf(i).space;
  Mask result = 0;
  for (int l = 0; l < Lanes; ++l) {
    const uint32_t found = value[l] >= LocalWindow && value[l] < LocalWindow + WindowBytes     ? Local
                           : value[l] >= SharedWindow && value[l] < SharedWindow + WindowBytes ? Shared
                                                                                               : Global;
    result |= static_cast<Mask>(found == space) << l;
  }
  warp.setPredicate(i.operands[0], result, active);
}

void nothing(Warp &, const Instruction &, Mask) {}

void readClock(Warp &warp, const Instruction &i, Mask active) {
  uint64_t value[Lanes];
  for (uint64_t &v : value)
    v = warp.block->executed;
  storeRaw(warp, i.operands[0], value, active);
}

} // namespace

void addTransfers(HandlerTable &t) {
  t["ld"] = load;
  t["st"] = store;
  t["cvta"] = convertAddress;
  t["isspacep"] = isSpace;
  t["nop"] = nothing;
  t["clock"] = readClock;
}

} // namespace hlo::emulator
