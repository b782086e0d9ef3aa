// Atomic operations. Lanes go one after the other, so the order of floating-point sums follows the schedule.

#include "formats.h"
#include "transfers.h"

#include <algorithm>

namespace hlo::emulator {

namespace {

template <typename T> T combine(uint32_t operation, T old, T value, T other) {
  switch (operation) {
  case AtomicAdd:
    return static_cast<T>(old + value);
  case AtomicMin:
    return std::min(old, value);
  case AtomicMax:
    return std::max(old, value);
  case AtomicExchange:
    return value;
  case AtomicCas:
    return old == value ? other : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
    case AtomicAnd:
      return old & value;
    case AtomicOr:
      return old | value;
    case AtomicXor:
      return old ^ value;
    case AtomicInc:
      return old >= value ? T(0) : static_cast<T>(old + 1);
    case AtomicDec:
      return old == 0 || old > value ? value : static_cast<T>(old - 1);
    default:
      break;
    }
  }
  return old;
}

template <typename T> uint64_t update(char *at, uint32_t operation, uint64_t value, uint64_t other) {
  T old, operand, second;
  std::memcpy(&old, at, sizeof(T));
  std::memcpy(&operand, &value, sizeof(T));
  std::memcpy(&second, &other, sizeof(T));
  const T made = combine(operation, old, operand, second);
  std::memcpy(at, &made, sizeof(T));
  uint64_t raw = 0;
  std::memcpy(&raw, &old, sizeof(T));
  return raw;
}

uint16_t updateHalf(uint16_t old, uint16_t value, uint32_t operation, bool brain) {
  auto decoded = [&](uint16_t v) { return brain ? decodeBrain(v) : decodeHalf(v); };
  const float made = combine(operation, decoded(old), decoded(value), 0.0f);
  return brain ? encodeBrain(made) : encodeHalf(made);
}

uint64_t updateHalves(char *at, uint32_t bytes, bool brain, uint32_t operation, uint64_t value) {
  uint64_t before = 0;
  std::memcpy(&before, at, bytes);
  for (uint32_t k = 0; k < bytes; k += 2) {
    const uint16_t made =
        updateHalf(static_cast<uint16_t>(before >> (8 * k)), static_cast<uint16_t>(value >> (8 * k)), operation, brain);
    std::memcpy(at + k, &made, 2);
  }
  return before;
}

uint64_t updated(char *at, uint32_t type, uint32_t operation, uint64_t value, uint64_t other) {
  switch (type) {
  case S32:
    return update<int32_t>(at, operation, value, other);
  case U32:
  case B32:
    return update<uint32_t>(at, operation, value, other);
  case S64:
    return update<int64_t>(at, operation, value, other);
  case U64:
  case B64:
    return update<uint64_t>(at, operation, value, other);
  case B16:
  case U16:
    return update<uint16_t>(at, operation, value, other);
  case F32:
    return update<float>(at, operation, value, other);
  case F64:
    return update<double>(at, operation, value, other);
  default:
    return updateHalves(at, type == F16 || type == BF16 ? 2 : 4, type == BF16 || type == BF16x2, operation, value);
  }
}

/// What a block has released passes to whoever makes an atomic operation on the address later; see shadow.h.
void pass(Warp &warp, uint64_t address, int lane) {
  Memory &memory = *warp.block->memory;
  if (!warp.released[lane] && !memory.hasReleases())
    return;
  Releases &releases = memory.releasesAt(address);
  if (!releases.empty())
    warp.observed.push_back({lane, {&releases, releases.size()}});
  const uint32_t end = warp.released[lane], begin = memory.timeline().block();
  if (end > begin && (releases.empty() || releases.back().end < end))
    releases.push_back({begin, end});
}

/// Operands: the old value (width -1: not wanted), the address, a value, and another for compare-and-swap.
void atomic(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
  uint64_t value[Lanes], other[Lanes] = {}, old[Lanes];
  loadRaw(warp, i.operands[2], value);
  if (i.operandCount > 3)
    loadRaw(warp, i.operands[3], other);
  Actor actor = warp.actor(0, i.line);
  located(warp, i, active, [&](int lane) {
    actor.lane = static_cast<uint16_t>(lane);
    char *at = access(warp, detail.space, laneAddress(warp, i.operands[1], i.immediate, lane), detail.bytes,
                      Access::Atomic, actor);
    old[lane] = updated(at, detail.type, detail.operation, value[lane], other[lane]);
    if (i.operands[0].width > 0)
      pass(warp, reinterpret_cast<uint64_t>(at), lane);
  });
  if (i.operands[0].width > 0)
    storeRaw(warp, i.operands[0], old, active);
}

/// Orders what a lane did before it, and what its block did before the last barrier, for other blocks.
void fence(Warp &warp, const Instruction &, Mask active) {
  Timeline &timeline = warp.block->memory->timeline();
  for (int lane = 0; lane < Lanes; ++lane)
    if (active >> lane & 1)
      warp.released[lane] = timeline.epoch();
  auto isFenced = [&](const std::pair<int, Acquired> &seen) { return active >> seen.first & 1; };
  for (const auto &seen : warp.observed)
    if (isFenced(seen))
      timeline.acquire(seen.second);
  warp.observed.erase(std::remove_if(warp.observed.begin(), warp.observed.end(), isFenced), warp.observed.end());
}

} // namespace

void addAtomics(HandlerTable &t) {
  t["atom"] = atomic;
  t["fence"] = fence;
}

} // namespace hlo::emulator
