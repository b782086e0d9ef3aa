// The inner loops of the Fourier transform, compiled once for each level of the processor's vector instructions.
//
// Pure functions on the caller's memory; safe from any thread. No C++ library code behind them: they are compiled with
// instructions that the machine may not have, and an inline function they shared with other files could leak out.
#pragma once

#include <cstdint>

namespace hlo::runtime::fft {

/// Lanes that are transformed together; every other count takes one at a time.
template <typename T> constexpr int64_t groupLanes = sizeof(T) == 4 ? 16 : 8;

/// Odd radices without code of their own go up to here.
constexpr int largestRadix = 127;

/// One Stockham stage over `lanes` interleaved transforms: element i of transform b is re[i * lanes + b]. With the
/// transforms of length n already split into runs of `done`, it joins `radix` runs at a time:
///   out[(j / done) * done * radix + j % done + q * done] = sum_p in[j + p * n / radix] w^(p k) e^(-2 pi i p q /
///   radix).
template <typename T> struct Stage {
  int radix; // 2, 4, 8 or an odd number up to largestRadix
  int64_t n;
  int64_t done;
  const T *twiddleRe; // [radix - 1][done]: the powers of w = e^(-2 pi i / (done * radix))
  const T *twiddleIm;
  const T *cosine; // [radix]: cos and sin of 2 pi p / radix, for odd radices
  const T *sine;
};

/// Split complex numbers of 1 or groupLanes<T> interleaved lanes.
template <typename T> struct Split {
  T *re, *im;
  bool grouped;

  // Inlined even in code for wider vectors: a copy of it must not serve other files.
  __attribute__((always_inline)) int64_t width() const { return grouped ? groupLanes<T> : 1; }
};

/// Where lines lie in a tensor of T: a pointer to the first number of each lane's, and the numbers from one position to
/// the next. Lanes from `count` on have no line: they are loaded from the first one's and not stored.
template <typename T> struct Lines {
  T *lane[16];
  int64_t count;
  int64_t step;
};

/// What depends on the type C computed in alone.
template <typename C> struct Arithmetic {
  void (*stage)(const Stage<C> &stage, bool grouped, const C *inRe, const C *inIm, C *outRe, C *outIm);
  /// to[j] = from[j] * (re[j] + i im[j]) for `count` positions; to and from may be the same.
  void (*multiply)(const Split<C> &to, const Split<C> &from, const C *re, const C *im, int64_t count);
  /// The transform of half a real line's length, whose elements are pairs of its numbers, into the half + 1 bins of the
  /// line's own, and back into twice what the pairs' inverse transform takes. In place; roots as of halfRootsFor.
  void (*pairsToBins)(const Split<C> &data, int64_t half, const C *roots);
  void (*binsToPairs)(const Split<C> &data, int64_t half, const C *roots);
};

/// The way between a tensor of T and lanes of C: pairs of numbers, or single ones with an imaginary part of zero.
template <typename T, typename C> struct Transfer {
  void (*load)(const Lines<const T> &lines, int64_t positions, const Split<C> &to);
  void (*store)(const Lines<T> &lines, int64_t positions, const Split<C> &from, C scale);
  void (*loadReal)(const Lines<const T> &lines, int64_t positions, const Split<C> &to);
  void (*storeReal)(const Lines<T> &lines, int64_t positions, const Split<C> &from, C scale);
};

#define HLO_FFT_DECLARE(LEVEL)                                                                                         \
  namespace LEVEL {                                                                                                    \
  template <typename C> struct Stages {                                                                                \
    static void stage(const Stage<C> &, bool, const C *, const C *, C *, C *);                                         \
  };                                                                                                                   \
  template <typename C> struct Spectra {                                                                               \
    static void multiply(const Split<C> &, const Split<C> &, const C *, const C *, int64_t);                           \
    static void pairsToBins(const Split<C> &, int64_t, const C *);                                                     \
    static void binsToPairs(const Split<C> &, int64_t, const C *);                                                     \
  };                                                                                                                   \
  template <typename T, typename C> struct Tensors {                                                                   \
    static void load(const Lines<const T> &, int64_t, const Split<C> &);                                               \
    static void store(const Lines<T> &, int64_t, const Split<C> &, C);                                                 \
    static void loadReal(const Lines<const T> &, int64_t, const Split<C> &);                                           \
    static void storeReal(const Lines<T> &, int64_t, const Split<C> &, C);                                             \
  };                                                                                                                   \
  }
HLO_FFT_DECLARE(baseline)
HLO_FFT_DECLARE(avx2)
HLO_FFT_DECLARE(avx512)
#undef HLO_FFT_DECLARE

} // namespace hlo::runtime::fft
