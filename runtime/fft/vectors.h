// Vectors of the width that a file is compiled for. Everything here has internal linkage, so that no level's code can
// stand in for another's.
#pragma once

#include "stages.h"

#include <cstdint>

#ifndef HLO_FFT_LEVEL
#define HLO_FFT_LEVEL baseline
#endif

namespace hlo::runtime::fft {
namespace {

#if defined(__AVX512F__)
constexpr int64_t vectorBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t vectorBytes = 32;
#else
constexpr int64_t vectorBytes = 16;
#endif

template <typename T> struct VectorOf {
  typedef T Type __attribute__((vector_size(vectorBytes)));
};
template <typename T> using Vector = typename VectorOf<T>::Type;

template <typename T> constexpr int64_t vectorSize = vectorBytes / static_cast<int64_t>(sizeof(T));

template <typename V, typename T> inline V loadAs(const T *from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}

template <typename V, typename T> inline void storeAs(T *to, V value) { __builtin_memcpy(to, &value, sizeof(V)); }

} // namespace
} // namespace hlo::runtime::fft
