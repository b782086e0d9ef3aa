#include "stages.h"

#ifndef HLO_FFT_LEVEL
#define HLO_FFT_LEVEL baseline
#endif

namespace hlo::runtime::fft {
namespace {

// e^(-2 pi i p q / R) for the inputs of one butterfly, in place.
template <typename T> inline void butterfly2(T *re, T *im) {
  const T r = re[0] - re[1], i = im[0] - im[1];
  re[0] += re[1];
  im[0] += im[1];
  re[1] = r;
  im[1] = i;
}

template <typename T> inline void butterfly4(T *re, T *im) {
  const T sumR = re[0] + re[2], sumI = im[0] + im[2], differenceR = re[0] - re[2], differenceI = im[0] - im[2];
  const T oddR = re[1] + re[3], oddI = im[1] + im[3], crossR = im[1] - im[3], crossI = re[3] - re[1];
  re[0] = sumR + oddR;
  im[0] = sumI + oddI;
  re[1] = differenceR + crossR;
  im[1] = differenceI + crossI;
  re[2] = sumR - oddR;
  im[2] = sumI - oddI;
  re[3] = differenceR - crossR;
  im[3] = differenceI - crossI;
}

// Odd lengths: inputs p and R - p meet the same cosine and opposite sines.
template <int R, typename T> inline void butterflyOdd(T *re, T *im, const T *cosine, const T *sine) {
  constexpr int half = R / 2;
  T sumR[half], sumI[half], differenceR[half], differenceI[half];
  for (int p = 0; p < half; ++p) {
    sumR[p] = re[p + 1] + re[R - 1 - p];
    sumI[p] = im[p + 1] + im[R - 1 - p];
    differenceR[p] = re[p + 1] - re[R - 1 - p];
    differenceI[p] = im[p + 1] - im[R - 1 - p];
  }
  const T firstR = re[0], firstI = im[0];
  for (int p = 0; p < half; ++p) {
    re[0] += sumR[p];
    im[0] += sumI[p];
  }
  for (int q = 1; q <= half; ++q) {
    T evenR = firstR, evenI = firstI, oddR = 0, oddI = 0;
    for (int p = 1; p <= half; ++p) {
      const T c = cosine[p * q % R], s = sine[p * q % R];
      evenR += c * sumR[p - 1];
      evenI += c * sumI[p - 1];
      oddR += s * differenceI[p - 1];
      oddI -= s * differenceR[p - 1];
    }
    re[q] = evenR + oddR;
    im[q] = evenI + oddI;
    re[R - q] = evenR - oddR;
    im[R - q] = evenI - oddI;
  }
}

template <int R, typename T> struct Butterfly {
  const Stage<T> &stage;
  const T *inRe, *inIm;
  T *outRe, *outIm;

  // from + p * fromStep -> to + q * toStep, with the twiddles of position k.
  template <bool hasTwiddles>
  inline void apply(int64_t from, int64_t fromStep, int64_t to, int64_t toStep, int64_t k) const {
    T re[R], im[R];
    for (int p = 0; p < R; ++p) {
      re[p] = inRe[from + p * fromStep];
      im[p] = inIm[from + p * fromStep];
    }
    if constexpr (hasTwiddles)
      for (int p = 1; p < R; ++p) {
        const T c = stage.twiddleRe[(p - 1) * stage.done + k], s = stage.twiddleIm[(p - 1) * stage.done + k];
        const T r = re[p] * c - im[p] * s;
        im[p] = re[p] * s + im[p] * c;
        re[p] = r;
      }
    if constexpr (R == 2)
      butterfly2(re, im);
    else if constexpr (R == 4)
      butterfly4(re, im);
    else
      butterflyOdd<R>(re, im, stage.cosine, stage.sine);
    for (int q = 0; q < R; ++q) {
      outRe[to + q * toStep] = re[q];
      outIm[to + q * toStep] = im[q];
    }
  }
};

// The innermost loop runs over what is contiguous: the lanes, the positions in a run, or the runs of the first stage.
template <int R, typename T>
void runRadix(const Stage<T> &stage, bool grouped, const T *__restrict inRe, const T *__restrict inIm,
              T *__restrict outRe, T *__restrict outIm) {
  const Butterfly<R, T> butterfly{stage, inRe, inIm, outRe, outIm};
  const int64_t runs = stage.n / R, done = stage.done;
  constexpr int64_t lanes = groupLanes<T>;
  if (grouped && done == 1) {
    for (int64_t j = 0; j < runs; ++j)
#pragma GCC ivdep
      for (int64_t b = 0; b < lanes; ++b)
        butterfly.template apply<false>(j * lanes + b, runs * lanes, j * R * lanes + b, lanes, 0);
    return;
  }
  if (grouped) {
    for (int64_t j = 0; j < runs; j += done)
      for (int64_t k = 0; k < done; ++k)
#pragma GCC ivdep
        for (int64_t b = 0; b < lanes; ++b)
          butterfly.template apply<true>((j + k) * lanes + b, runs * lanes, (j * R + k) * lanes + b, done * lanes, k);
    return;
  }
  if (done == 1) {
#pragma GCC ivdep
    for (int64_t j = 0; j < runs; ++j)
      butterfly.template apply<false>(j, runs, j * R, 1, 0);
    return;
  }
  for (int64_t j = 0; j < runs; j += done)
#pragma GCC ivdep
    for (int64_t k = 0; k < done; ++k)
      butterfly.template apply<true>(j + k, runs, j * R + k, done, k);
}

template <typename T>
void runStage(const Stage<T> &stage, bool grouped, const T *inRe, const T *inIm, T *outRe, T *outIm) {
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
  case 11:
    return runRadix<11>(stage, grouped, inRe, inIm, outRe, outIm);
  case 13:
    return runRadix<13>(stage, grouped, inRe, inIm, outRe, outIm);
  default:
    return;
  }
}

} // namespace

namespace HLO_FFT_LEVEL {

void runStageF32(const Stage<float> &stage, bool grouped, const float *inRe, const float *inIm, float *outRe,
                 float *outIm) {
  runStage(stage, grouped, inRe, inIm, outRe, outIm);
}

void runStageF64(const Stage<double> &stage, bool grouped, const double *inRe, const double *inIm, double *outRe,
                 double *outIm) {
  runStage(stage, grouped, inRe, inIm, outRe, outIm);
}

} // namespace HLO_FFT_LEVEL
} // namespace hlo::runtime::fft
