#include "symbols.h"

#include "fft/fft.h"
#include "kernel_abi.h"
#include "lapack/symbols.h"
#include "sorting/sort.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// Conversions that code generators call when the processor has no instruction for them. The 16-bit value travels in the
// low half of a floating-point register, on x86-64 and AArch64 alike, so `float` can stand for both 16-bit types and no
// compiler support for them is needed.
namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Rounds an IEEE double (given by its bits) to a format of `exponentBits` and `fractionBits`, ties to even.
uint32_t roundTo16(uint64_t bits, int exponentBits, int fractionBits) {
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << 15;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const uint32_t infinity = ((1u << exponentBits) - 1) << fractionBits;
  if (exponent == 0x7ff)
    return sign | infinity |
           (fraction ? (1u << (fractionBits - 1)) | static_cast<uint32_t>(fraction >> (52 - fractionBits)) : 0);
  const int bias = (1 << (exponentBits - 1)) - 1;
  int biased = exponent - 1023 + bias;
  if (biased >= (1 << exponentBits) - 1)
    return sign | infinity;
  uint64_t significand = exponent ? fraction | uint64_t{1} << 52 : 0;
  int drop = 52 - fractionBits;
  if (biased <= 0) { // subnormal, or nothing left
    drop += 1 - biased;
    biased = 0;
    if (drop > 54)
      return sign;
  } else {
    significand &= (uint64_t{1} << 52) - 1;
  }
  uint32_t kept = static_cast<uint32_t>(significand >> drop) + (static_cast<uint32_t>(biased) << fractionBits);
  const uint64_t rest = significand & ((uint64_t{1} << drop) - 1);
  const uint64_t half = uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept; // a carry into the exponent is the right result, up to infinity
  return sign | kept;
}

float halfToFloat(float half) {
  const uint32_t bits = bitsOf(half) & 0xffff;
  const uint32_t sign = (bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return floatOf(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent == 0)
    return std::copysign(static_cast<float>(fraction) * 0x1p-24f, floatOf(sign));
  return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
}

float floatToHalf(float value) { return floatOf(roundTo16(bitsOf(static_cast<double>(value)), 5, 10)); }
float doubleToHalf(double value) { return floatOf(roundTo16(bitsOf(value), 5, 10)); }
float floatToBfloat(float value) { return floatOf(roundTo16(bitsOf(static_cast<double>(value)), 8, 7)); }
float doubleToBfloat(double value) { return floatOf(roundTo16(bitsOf(value), 8, 7)); }
float bfloatToFloat(float value) { return floatOf(bitsOf(value) << 16); }
double halfToDouble(float half) { return static_cast<double>(halfToFloat(half)); }

template <typename F> void *address(F *function) { return reinterpret_cast<void *>(function); }

std::vector<std::pair<const char *, void *>> makeSymbols() {
  std::vector<std::pair<const char *, void *>> symbols;
#define HLO_SYMBOL(NAME) symbols.emplace_back(#NAME, address(&NAME))
  HLO_SYMBOL(hlo_rt_set_error);
  HLO_SYMBOL(hlo_rt_threads);
  HLO_SYMBOL(hlo_rt_now);
  HLO_SYMBOL(hlo_rt_parallel_for);
  HLO_SYMBOL(hlo_rt_copy);
  HLO_SYMBOL(hlo_rt_alloc);
  HLO_SYMBOL(hlo_rt_free);
  HLO_SYMBOL(hlo_rt_random_state);
  HLO_SYMBOL(hlo_rt_fft);
  HLO_SYMBOL(hlo_rt_python_callback);
  HLO_SYMBOL(hlo_rt_sort);
  HLO_SYMBOL(hlo_rt_sort_keys);
  HLO_SYMBOL(hlo_rt_sort_first);
  HLO_SYMBOL(hlo_rt_gemm_f32);
  HLO_SYMBOL(hlo_rt_gemm_f64);
  HLO_SYMBOL(hlo_rt_gemm_c64);
  HLO_SYMBOL(hlo_rt_gemm_c128);
  HLO_SYMBOL(hlo_rt_gemm_batched_f32);
  HLO_SYMBOL(hlo_rt_gemm_batched_f64);
  HLO_SYMBOL(hlo_rt_gemm_batched_c64);
  HLO_SYMBOL(hlo_rt_gemm_batched_c128);
#undef HLO_SYMBOL

  for (const auto &entry : hlo::runtime::lapack::entries())
    symbols.emplace_back(entry.name, address(entry.function));

  using F1 = float (*)(float);
  using D1 = double (*)(double);
  using F2 = float (*)(float, float);
  using D2 = double (*)(double, double);
#define HLO_MATH1(NAME)                                                                                                \
  symbols.emplace_back(#NAME, reinterpret_cast<void *>(static_cast<D1>(::NAME)));                                      \
  symbols.emplace_back(#NAME "f", reinterpret_cast<void *>(static_cast<F1>(::NAME##f)))
#define HLO_MATH2(NAME)                                                                                                \
  symbols.emplace_back(#NAME, reinterpret_cast<void *>(static_cast<D2>(::NAME)));                                      \
  symbols.emplace_back(#NAME "f", reinterpret_cast<void *>(static_cast<F2>(::NAME##f)))
  HLO_MATH1(acos);
  HLO_MATH1(acosh);
  HLO_MATH1(asin);
  HLO_MATH1(asinh);
  HLO_MATH1(atan);
  HLO_MATH1(atanh);
  HLO_MATH1(cbrt);
  HLO_MATH1(ceil);
  HLO_MATH1(cos);
  HLO_MATH1(cosh);
  HLO_MATH1(erf);
  HLO_MATH1(erfc);
  HLO_MATH1(exp);
  HLO_MATH1(exp2);
  HLO_MATH1(expm1);
  HLO_MATH1(fabs);
  HLO_MATH1(floor);
  HLO_MATH1(lgamma);
  HLO_MATH1(log);
  HLO_MATH1(log10);
  HLO_MATH1(log1p);
  HLO_MATH1(log2);
  HLO_MATH1(nearbyint);
  HLO_MATH1(rint);
  HLO_MATH1(round);
  HLO_MATH1(sin);
  HLO_MATH1(sinh);
  HLO_MATH1(sqrt);
  HLO_MATH1(tan);
  HLO_MATH1(tanh);
  HLO_MATH1(tgamma);
  HLO_MATH1(trunc);
  HLO_MATH2(atan2);
  HLO_MATH2(copysign);
  HLO_MATH2(fdim);
  HLO_MATH2(fmax);
  HLO_MATH2(fmin);
  HLO_MATH2(fmod);
  HLO_MATH2(hypot);
  HLO_MATH2(nextafter);
  HLO_MATH2(pow);
  HLO_MATH2(remainder);
#undef HLO_MATH1
#undef HLO_MATH2
  symbols.emplace_back("fma", reinterpret_cast<void *>(static_cast<double (*)(double, double, double)>(::fma)));
  symbols.emplace_back("fmaf", reinterpret_cast<void *>(static_cast<float (*)(float, float, float)>(::fmaf)));
  symbols.emplace_back("ldexp", reinterpret_cast<void *>(static_cast<double (*)(double, int)>(::ldexp)));
  symbols.emplace_back("ldexpf", reinterpret_cast<void *>(static_cast<float (*)(float, int)>(::ldexpf)));
  symbols.emplace_back("frexp", reinterpret_cast<void *>(static_cast<double (*)(double, int *)>(::frexp)));
  symbols.emplace_back("frexpf", reinterpret_cast<void *>(static_cast<float (*)(float, int *)>(::frexpf)));
  symbols.emplace_back("sincos", reinterpret_cast<void *>(static_cast<void (*)(double, double *, double *)>(::sincos)));
  symbols.emplace_back("sincosf", reinterpret_cast<void *>(static_cast<void (*)(float, float *, float *)>(::sincosf)));

  symbols.emplace_back("__extendhfsf2", address(halfToFloat));
  symbols.emplace_back("__gnu_h2f_ieee", address(halfToFloat));
  symbols.emplace_back("__extendhfdf2", address(halfToDouble));
  symbols.emplace_back("__truncsfhf2", address(floatToHalf));
  symbols.emplace_back("__truncdfhf2", address(doubleToHalf));
  symbols.emplace_back("__truncsfbf2", address(floatToBfloat));
  symbols.emplace_back("__truncdfbf2", address(doubleToBfloat));
  symbols.emplace_back("__extendbfsf2", address(bfloatToFloat));
  return symbols;
}

} // namespace

namespace hlo::runtime {

const std::vector<std::pair<const char *, void *>> &runtimeSymbols() {
  static const std::vector<std::pair<const char *, void *>> symbols = makeSymbols();
  return symbols;
}

int64_t libraryScratchBytes(std::string_view function, void *const *buffers, const int64_t *parameters, int threads) {
  if (function == "hlo_rt_fft")
    return fft::scratchBytes(threads, parameters);
  if (function == "hlo_rt_sort")
    return sortScratchBytes(threads, buffers, parameters);
  if (function == "hlo_rt_sort_keys")
    return sortKeysScratchBytes(threads, buffers, parameters);
  if (function == "hlo_rt_sort_first")
    return sortFirstScratchBytes(threads, buffers, parameters);
  for (const lapack::Entry &entry : lapack::entries())
    if (function == entry.name)
      return entry.scratchBytes(threads, parameters);
  return 0;
}

} // namespace hlo::runtime
