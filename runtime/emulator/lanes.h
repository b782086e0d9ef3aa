// Loops over the lanes of a warp, for handlers. Their names are those of the instruction set that a file is compiled
// for.
#pragma once

#include "machine.h"

#include <type_traits>

namespace hlo::emulator {

inline namespace HLO_EMULATOR_LEVEL {

template <typename F> inline void forEach(Mask active, F f) {
  if (active == AllLanes) {
    for (int lane = 0; lane < Lanes; ++lane)
      f(lane);
    return;
  }
  for (Mask rest = active; rest; rest &= rest - 1)
    f(__builtin_ctz(rest));
}

constexpr int Few = 6; // lanes that take less time one by one than all of them at once

/// destination[lane] = f(lane) for active lanes; f is computed for all, so it must be total.
template <typename T, typename F> inline void assign(T *destination, Mask active, F f) {
  if (active == AllLanes) {
    T made[Lanes];
    for (int lane = 0; lane < Lanes; ++lane)
      made[lane] = f(lane);
    std::memcpy(destination, made, sizeof made);
    return;
  }
  if (__builtin_popcount(active) >= Few) {
    T made[Lanes];
    for (int lane = 0; lane < Lanes; ++lane)
      made[lane] = f(lane);
    for (int lane = 0; lane < Lanes; ++lane)
      destination[lane] = active >> lane & 1 ? made[lane] : destination[lane];
    return;
  }
  for (Mask rest = active; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    destination[lane] = f(lane);
  }
}

/// Stores the low bits of 64-bit values into a register of any width.
inline void storeRaw(Warp &warp, const Operand &operand, const uint64_t *value, Mask active) {
  char *base = warp.registers + operand.offset;
  switch (operand.width) {
  case 2:
    return assign(reinterpret_cast<uint16_t *>(base), active, [&](int l) { return static_cast<uint16_t>(value[l]); });
  case 4:
    return assign(reinterpret_cast<uint32_t *>(base), active, [&](int l) { return static_cast<uint32_t>(value[l]); });
  default:
    return assign(reinterpret_cast<uint64_t *>(base), active, [&](int l) { return value[l]; });
  }
}

inline void loadRaw(const Warp &warp, const Operand &operand, uint64_t *value) {
  switch (operand.width) {
  case 0: {
    const Mask mask = warp.predicate(operand);
    for (int l = 0; l < Lanes; ++l)
      value[l] = mask >> l & 1;
    return;
  }
  case 2: {
    const uint16_t *from = warp.values<uint16_t>(operand);
    for (int l = 0; l < Lanes; ++l)
      value[l] = from[l];
    return;
  }
  case 4: {
    const uint32_t *from = warp.values<uint32_t>(operand);
    for (int l = 0; l < Lanes; ++l)
      value[l] = from[l];
    return;
  }
  default:
    std::memcpy(value, warp.values<uint64_t>(operand), Lanes * sizeof(uint64_t));
  }
}

template <typename To, typename From> inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

} // namespace HLO_EMULATOR_LEVEL

} // namespace hlo::emulator
