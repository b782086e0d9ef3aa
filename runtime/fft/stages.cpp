#include "butterflies.h"

namespace hlo::runtime::fft {
namespace {

// W is the type of one butterfly's twiddles: T if the numbers of a V share them, else V.
template <int R, typename V, typename W, typename T> struct Butterfly {
  const Stage<T> &stage;
  const T *inRe, *inIm;
  T *outRe, *outIm;

  // from + p * fromStep -> to + q * toStep, with the twiddles of position k.
  template <bool hasTwiddles>
  inline void apply(int64_t from, int64_t fromStep, int64_t to, int64_t toStep, int64_t k) const {
    V re[R], im[R];
    for (int p = 0; p < R; ++p) {
      re[p] = loadAs<V>(inRe + from + p * fromStep);
      im[p] = loadAs<V>(inIm + from + p * fromStep);
    }
    if constexpr (hasTwiddles)
      for (int p = 1; p < R; ++p) {
        const W c = loadAs<W>(stage.twiddleRe + (p - 1) * stage.done + k);
        const W s = loadAs<W>(stage.twiddleIm + (p - 1) * stage.done + k);
        const V r = re[p] * c - im[p] * s;
        im[p] = re[p] * s + im[p] * c;
        re[p] = r;
      }
    if constexpr (R == 2)
      butterfly2(re, im);
    else if constexpr (R == 4)
      butterfly4(re, im);
    else if constexpr (R == 8)
      butterfly8<T>(re, im);
    else
      butterflyOdd<R>(re, im, stage.cosine, stage.sine);
    for (int q = 0; q < R; ++q) {
      storeAs(outRe + to + q * toStep, re[q]);
      storeAs(outIm + to + q * toStep, im[q]);
    }
  }
};

// A vector holds lanes, of which the position is the same.
template <int R, typename T>
void runGrouped(const Stage<T> &stage, const T *__restrict inRe, const T *__restrict inIm, T *__restrict outRe,
                T *__restrict outIm) {
  const Butterfly<R, Vector<T>, T, T> butterfly{stage, inRe, inIm, outRe, outIm};
  const int64_t runs = stage.n / R, done = stage.done;
  constexpr int64_t lanes = groupLanes<T>;
  if (done == 1) {
    for (int64_t j = 0; j < runs; ++j)
      for (int64_t b = 0; b < lanes; b += vectorSize<T>)
        butterfly.template apply<false>(j * lanes + b, runs * lanes, j * R * lanes + b, lanes, 0);
    return;
  }
  for (int64_t j = 0; j < runs; j += done)
    for (int64_t k = 0; k < done; ++k)
      for (int64_t b = 0; b < lanes; b += vectorSize<T>)
        butterfly.template apply<true>((j + k) * lanes + b, runs * lanes, (j * R + k) * lanes + b, done * lanes, k);
}

// A vector holds neighbours in a run. Where there are none, in the first stages, the compiler makes vectors of what it
// can: the runs of the first stage, or the positions of short ones.
template <int R, typename T>
void runSingle(const Stage<T> &stage, const T *__restrict inRe, const T *__restrict inIm, T *__restrict outRe,
               T *__restrict outIm) {
  const Butterfly<R, T, T, T> butterfly{stage, inRe, inIm, outRe, outIm};
  const int64_t runs = stage.n / R, done = stage.done;
  if (done == 1) {
#pragma GCC ivdep
    for (int64_t j = 0; j < runs; ++j)
      butterfly.template apply<false>(j, runs, j * R, 1, 0);
    return;
  }
  const Butterfly<R, Vector<T>, Vector<T>, T> vectors{stage, inRe, inIm, outRe, outIm};
  for (int64_t j = 0; j < runs; j += done) {
    const int64_t whole = done / vectorSize<T> * vectorSize<T>;
    for (int64_t k = 0; k < whole; k += vectorSize<T>)
      vectors.template apply<true>(j + k, runs, j * R + k, done, k);
#pragma GCC ivdep
    for (int64_t k = whole; k < done; ++k)
      butterfly.template apply<true>(j + k, runs, j * R + k, done, k);
  }
}

template <int R, typename T>
void runRadix(const Stage<T> &stage, bool grouped, const T *inRe, const T *inIm, T *outRe, T *outIm) {
  if (grouped)
    runGrouped<R>(stage, inRe, inIm, outRe, outIm);
  else
    runSingle<R>(stage, inRe, inIm, outRe, outIm);
}

// A radix known at run time. W is the type of the twiddles of one butterfly: T if its lanes share them, else V.
template <typename V, typename W, typename T>
inline void applyAny(const Stage<T> &stage, const T *inRe, const T *inIm, int64_t fromStep, T *outRe, T *outIm,
                     int64_t toStep, int64_t k) {
  V re[largestRadix], im[largestRadix];
  for (int p = 0; p < stage.radix; ++p) {
    re[p] = loadAs<V>(inRe + p * fromStep);
    im[p] = loadAs<V>(inIm + p * fromStep);
  }
  for (int p = 1; p < stage.radix && stage.done > 1; ++p) {
    const W c = loadAs<W>(stage.twiddleRe + (p - 1) * stage.done + k);
    const W s = loadAs<W>(stage.twiddleIm + (p - 1) * stage.done + k);
    const V r = re[p] * c - im[p] * s;
    im[p] = re[p] * s + im[p] * c;
    re[p] = r;
  }
  butterflyAnyOdd(stage.radix, re, im, stage.cosine, stage.sine);
  for (int q = 0; q < stage.radix; ++q) {
    storeAs(outRe + q * toStep, re[q]);
    storeAs(outIm + q * toStep, im[q]);
  }
}

template <typename T>
void runAny(const Stage<T> &stage, bool grouped, const T *inRe, const T *inIm, T *outRe, T *outIm) {
  const int64_t runs = stage.n / stage.radix, done = stage.done;
  const int64_t lanes = grouped ? groupLanes<T> : 1;
  for (int64_t j = 0; j < runs; j += done)
    for (int64_t k = 0; k < done;) {
      const int64_t from = (j + k) * lanes, to = (j * stage.radix + k) * lanes;
      if (grouped) {
        for (int64_t b = 0; b < lanes; b += vectorSize<T>)
          applyAny<Vector<T>, T>(stage, inRe + from + b, inIm + from + b, runs * lanes, outRe + to + b, outIm + to + b,
                                 done * lanes, k);
        ++k;
      } else if (k + vectorSize<T> <= done) {
        applyAny<Vector<T>, Vector<T>>(stage, inRe + from, inIm + from, runs, outRe + to, outIm + to, done, k);
        k += vectorSize<T>;
      } else {
        applyAny<T, T>(stage, inRe + from, inIm + from, runs, outRe + to, outIm + to, done, k);
        ++k;
      }
    }
}

} // namespace

namespace HLO_FFT_LEVEL {

template <typename C>
void Stages<C>::stage(const Stage<C> &stage, bool grouped, const C *inRe, const C *inIm, C *outRe, C *outIm) {
  switch (stage.radix) {
  case 2:
    return runRadix<2>(stage, grouped, inRe, inIm, outRe, outIm);
  case 3:
    return runRadix<3>(stage, grouped, inRe, inIm, outRe, outIm);
  case 4:
    return runRadix<4>(stage, grouped, inRe, inIm, outRe, outIm);
  case 5:
    return runRadix<5>(stage, grouped, inRe, inIm, outRe, outIm);
  case 7:
    return runRadix<7>(stage, grouped, inRe, inIm, outRe, outIm);
  case 8:
    return runRadix<8>(stage, grouped, inRe, inIm, outRe, outIm);
  case 11:
    return runRadix<11>(stage, grouped, inRe, inIm, outRe, outIm);
  case 13:
    return runRadix<13>(stage, grouped, inRe, inIm, outRe, outIm);
  default:
    return runAny(stage, grouped, inRe, inIm, outRe, outIm);
  }
}

template struct Stages<float>;
template struct Stages<double>;

} // namespace HLO_FFT_LEVEL
} // namespace hlo::runtime::fft
