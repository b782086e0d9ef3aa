// The floating-point mode generated code runs in: round to nearest, subnormals kept, no traps.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hlo::runtime {

/// Sets the default mode for its scope on this thread: other libraries may have left it flushing subnormals.
class DefaultFloatEnvironment {
public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : saved(_mm_getcsr()) {
    if ((saved & ~statusFlags) != defaultControl)
      _mm_setcsr(defaultControl);
  }
  ~DefaultFloatEnvironment() {
    if ((saved & ~statusFlags) != defaultControl)
      _mm_setcsr(saved);
  }

private:
  static constexpr uint32_t statusFlags = 0x3f;
  static constexpr uint32_t defaultControl = 0x1f80;
  const uint32_t saved;
#elif defined(__aarch64__)
  DefaultFloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved));
    if (saved != 0)
      asm volatile("msr fpcr, %0" ::"r"(uint64_t{0}));
  }
  ~DefaultFloatEnvironment() {
    if (saved != 0)
      asm volatile("msr fpcr, %0" ::"r"(saved));
  }

private:
  uint64_t saved = 0;
#endif
public:
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;
};

} // namespace hlo::runtime
