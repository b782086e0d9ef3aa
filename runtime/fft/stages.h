// The inner loops of the Fourier transform, compiled once for each level of the processor's vector instructions.
//
// Pure functions on the caller's memory; safe from any thread. No C++ library code in here: these files are compiled
// with instructions that the machine may not have, and an inline function they shared with other files could leak out.
#pragma once

#include <cstdint>

namespace hlo::runtime::fft {

/// One Stockham stage over `lanes` interleaved transforms: element i of transform b is re[i * lanes + b]. With the
/// transforms of length n already split into runs of `done`, it joins `radix` runs at a time:
///   out[(j / done) * done * radix + j % done + q * done] = sum_p in[j + p * n / radix] w^(p k) e^(-2 pi i p q /
///   radix).
template <typename T> struct Stage {
  int radix; // 2, 3, 4, 5, 7, 11 or 13
  int64_t n;
  int64_t done;
  const T *twiddleRe; // [radix - 1][done]: the powers of w = e^(-2 pi i / (done * radix))
  const T *twiddleIm;
  const T *cosine; // [radix]: cos and sin of 2 pi p / radix, for odd radices
  const T *sine;
};

/// Lanes that are transformed together; every other count takes one at a time.
template <typename T> constexpr int64_t groupLanes = sizeof(T) == 4 ? 16 : 8;

template <typename T>
using StageFn = void (*)(const Stage<T> &stage, bool grouped, const T *inRe, const T *inIm, T *outRe, T *outIm);

#define HLO_FFT_DECLARE(LEVEL)                                                                                         \
  namespace LEVEL {                                                                                                    \
  void runStageF32(const Stage<float> &, bool, const float *, const float *, float *, float *);                        \
  void runStageF64(const Stage<double> &, bool, const double *, const double *, double *, double *);                   \
  }
HLO_FFT_DECLARE(baseline)
HLO_FFT_DECLARE(avx2)
HLO_FFT_DECLARE(avx512)
#undef HLO_FFT_DECLARE

} // namespace hlo::runtime::fft
