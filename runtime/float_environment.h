// The floating-point mode generated code runs in: round to nearest, no traps, subnormals kept or flushed.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hlo::runtime {

/// What becomes of subnormal operands and results.
enum class Subnormals : uint8_t { Kept, Flushed };

/// Sets a mode for its scope on this thread, whatever other libraries have left it in.
class FloatEnvironment {
public:
#if defined(__x86_64__)
  using Control = uint32_t;
#elif defined(__aarch64__)
  using Control = uint64_t;
#else
  using Control = int;
#endif

  explicit FloatEnvironment(Subnormals subnormals) : FloatEnvironment(controlOf(subnormals)) {}
  /// The mode that `current` said another thread is in.
  explicit FloatEnvironment(Control wanted) : saved(current()), changed(saved != wanted) {
    if (changed)
      set(wanted);
  }
  ~FloatEnvironment() {
    if (changed)
      set(saved);
  }

  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

#if defined(__x86_64__)
  static Control current() { return _mm_getcsr() & ~statusFlags; }

private:
  static void set(Control wanted) { _mm_setcsr(wanted); }
  static constexpr Control controlOf(Subnormals subnormals) {
    return subnormals == Subnormals::Kept ? 0x1f80 : 0x1f80 | flushToZero | denormalsAreZero;
  }
  static constexpr Control statusFlags = 0x3f, denormalsAreZero = 0x40, flushToZero = 0x8000;
#elif defined(__aarch64__)
  static Control current() {
    Control control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }

private:
  static void set(Control wanted) { asm volatile("msr fpcr, %0" ::"r"(wanted)); }
  static constexpr Control controlOf(Subnormals subnormals) {
    return subnormals == Subnormals::Kept ? 0 : Control{1} << 24; // FZ
  }
#else
  static Control current() { return 0; }

private:
  static void set(Control) {}
  static constexpr Control controlOf(Subnormals) { return 0; }
#endif
  const Control saved;
  const bool changed;
};

} // namespace hlo::runtime
