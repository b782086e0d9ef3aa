// Addresses of an instruction's lanes, in any space.
#pragma once

#include "lanes.h"

namespace hlo::emulator {

/// Says where a fault happened.
void locate(Fault &fault, const Warp &warp, const Instruction &i, int lane);

inline namespace HLO_EMULATOR_LEVEL {

inline uint64_t laneAddress(const Warp &warp, const Operand &operand, int64_t offset, int lane) {
  const uint64_t base =
      operand.width == 4 ? warp.values<uint32_t>(operand)[lane] : warp.values<uint64_t>(operand)[lane];
  return base + static_cast<uint64_t>(offset);
}

/// Runs `f(lane)` for active lanes; a Fault learns where it happened.
template <typename F> void located(Warp &warp, const Instruction &i, Mask active, F f) {
  int lane = 0;
  try {
    for (Mask rest = active; rest; rest &= rest - 1) {
      lane = __builtin_ctz(rest);
      f(lane);
    }
  } catch (Fault &fault) {
    locate(fault, warp, i, lane);
    throw;
  }
}

} // namespace HLO_EMULATOR_LEVEL

/// The host address of one lane's access, checked and noted.
char *access(Warp &warp, uint32_t space, uint64_t address, uint32_t bytes, Access kind, const Actor &actor,
             const char *written = nullptr);

} // namespace hlo::emulator
