// Accesses of single lanes, and address conversions.

#include "transfers.h"

namespace hlo::emulator {

void locate(Fault &fault, const Warp &warp, const Instruction &i, int lane) {
  fault.line = i.line;
  fault.block = {warp.block->position.x, warp.block->position.y, warp.block->position.z};
  fault.thread = warp.block->thread(warp.index, lane);
}

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
  t["cvta"] = convertAddress;
  t["isspacep"] = isSpace;
  t["nop"] = nothing;
  t["clock"] = readClock;
}

} // namespace hlo::emulator
