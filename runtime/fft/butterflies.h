// e^(-2 pi i p q / R) times the R inputs of one butterfly, in place, on numbers or vectors V of T.
#pragma once

#include "vectors.h"

namespace hlo::runtime::fft {
namespace {

template <typename V> inline void butterfly2(V *re, V *im) {
  const V r = re[0] - re[1], i = im[0] - im[1];
  re[0] += re[1];
  im[0] += im[1];
  re[1] = r;
  im[1] = i;
}

template <typename V> inline void butterfly4(V *re, V *im) {
  const V sumR = re[0] + re[2], sumI = im[0] + im[2], differenceR = re[0] - re[2], differenceI = im[0] - im[2];
  const V oddR = re[1] + re[3], oddI = im[1] + im[3], crossR = im[1] - im[3], crossI = re[3] - re[1];
  re[0] = sumR + oddR;
  im[0] = sumI + oddI;
  re[1] = differenceR + crossR;
  im[1] = differenceI + crossI;
  re[2] = sumR - oddR;
  im[2] = sumI - oddI;
  re[3] = differenceR - crossR;
  im[3] = differenceI - crossI;
}

// Two of length 4 and one of length 2 across, joined by the eighth roots of unity.
template <typename T, typename V> inline void butterfly8(V *re, V *im) {
  const T root = static_cast<T>(0.70710678118654752440084436210484904L);
  V evenR[4] = {re[0], re[2], re[4], re[6]}, evenI[4] = {im[0], im[2], im[4], im[6]};
  V oddR[4] = {re[1], re[3], re[5], re[7]}, oddI[4] = {im[1], im[3], im[5], im[7]};
  butterfly4(evenR, evenI);
  butterfly4(oddR, oddI);
  const V turnedR[4] = {oddR[0], (oddR[1] + oddI[1]) * root, oddI[2], (oddI[3] - oddR[3]) * root};
  const V turnedI[4] = {oddI[0], (oddI[1] - oddR[1]) * root, -oddR[2], -(oddR[3] + oddI[3]) * root};
  for (int q = 0; q < 4; ++q) {
    re[q] = evenR[q] + turnedR[q];
    im[q] = evenI[q] + turnedI[q];
    re[q + 4] = evenR[q] - turnedR[q];
    im[q + 4] = evenI[q] - turnedI[q];
  }
}

// Odd lengths: inputs p and R - p meet the same cosine and opposite sines.
template <int R, typename V, typename T> inline void butterflyOdd(V *re, V *im, const T *cosine, const T *sine) {
  constexpr int half = R / 2;
  V sumR[half], sumI[half], differenceR[half], differenceI[half];
  for (int p = 0; p < half; ++p) {
    sumR[p] = re[p + 1] + re[R - 1 - p];
    sumI[p] = im[p + 1] + im[R - 1 - p];
    differenceR[p] = re[p + 1] - re[R - 1 - p];
    differenceI[p] = im[p + 1] - im[R - 1 - p];
  }
  const V firstR = re[0], firstI = im[0];
  for (int p = 0; p < half; ++p) {
    re[0] += sumR[p];
    im[0] += sumI[p];
  }
  for (int q = 1; q <= half; ++q) {
    V evenR = firstR, evenI = firstI, oddR = V{}, oddI = V{};
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

// The same for a radix known at run time, two outputs and their mirrors at a time to load the sums half as often.
template <typename V, typename T> inline void butterflyAnyOdd(int radix, V *re, V *im, const T *cosine, const T *sine) {
  constexpr int most = largestRadix / 2;
  const int half = radix / 2;
  V sumR[most], sumI[most], differenceR[most], differenceI[most];
  const V firstR = re[0], firstI = im[0];
  for (int p = 0; p < half; ++p) {
    sumR[p] = re[p + 1] + re[radix - 1 - p];
    sumI[p] = im[p + 1] + im[radix - 1 - p];
    differenceR[p] = re[p + 1] - re[radix - 1 - p];
    differenceI[p] = im[p + 1] - im[radix - 1 - p];
    re[0] += sumR[p];
    im[0] += sumI[p];
  }
  constexpr int outputs = 2;
  for (int q = 1; q <= half; q += outputs) {
    V evenR[outputs], evenI[outputs], oddR[outputs] = {}, oddI[outputs] = {};
    int angle[outputs] = {};
    for (int u = 0; u < outputs; ++u) {
      evenR[u] = firstR;
      evenI[u] = firstI;
    }
    for (int p = 0; p < half; ++p)
      for (int u = 0; u < outputs; ++u) {
        angle[u] += q + u;
        angle[u] -= angle[u] >= radix ? radix : 0;
        const T c = cosine[angle[u]], s = sine[angle[u]];
        evenR[u] += c * sumR[p];
        evenI[u] += c * sumI[p];
        oddR[u] += s * differenceI[p];
        oddI[u] -= s * differenceR[p];
      }
    // An odd half computes one output past its last, and drops it.
    for (int u = 0; u < outputs && q + u <= half; ++u) {
      re[q + u] = evenR[u] + oddR[u];
      im[q + u] = evenI[u] + oddI[u];
      re[radix - q - u] = evenR[u] - oddR[u];
      im[radix - q - u] = evenI[u] - oddI[u];
    }
  }
}

} // namespace
} // namespace hlo::runtime::fft
