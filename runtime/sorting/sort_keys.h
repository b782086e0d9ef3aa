// Elements of every type and order as unsigned numbers that order like them. Every file that includes this has
// functions of its own: some are compiled for processors that not all are.
#pragma once

#include "../kernel_abi.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hlo::runtime {

struct SortKey {
  int operand;
  int order;
  bool descending;
};

template <typename U> static constexpr U signBit() { return static_cast<U>(U{1} << (sizeof(U) * 8 - 1)); }

template <typename U> static constexpr U infinityBits(int order) {
  if constexpr (sizeof(U) == 2)
    return order == HLO_SORT_BFLOAT_CANONICAL ? 0x7f80 : 0x7c00;
  else if constexpr (sizeof(U) == 4)
    return 0x7f800000u;
  else if constexpr (sizeof(U) == 8)
    return 0x7ff0000000000000ull;
  else
    return 0; // there is no float of one byte here
}

static inline bool isCanonical(int order) {
  return order == HLO_SORT_FLOAT_CANONICAL || order == HLO_SORT_BFLOAT_CANONICAL;
}

/// The unsigned number that orders like the element whose bits are given.
template <typename U> static U encode(U bits, const SortKey &key) {
  U result = bits;
  if (key.order == HLO_SORT_SIGNED) {
    result = static_cast<U>(bits ^ signBit<U>());
  } else if (key.order != HLO_SORT_UNSIGNED) {
    const U magnitude = static_cast<U>(bits & ~signBit<U>());
    if (isCanonical(key.order)) {
      if (magnitude > infinityBits<U>(key.order))
        bits = static_cast<U>(~signBit<U>()); // every NaN: the largest positive
      else if (magnitude == 0)
        bits = 0;
    }
    result = static_cast<U>(bits & signBit<U>() ? ~bits : bits | signBit<U>());
  }
  return key.descending ? static_cast<U>(~result) : result;
}

/// encode of `count` neighbouring elements, in loops that compilers make vectors of.
template <typename U> static void encodeMany(const char *array, int64_t count, const SortKey &key, U *codes) {
  using S = std::make_signed_t<U>;
  constexpr int top = sizeof(U) * 8 - 1;
  std::memcpy(codes, array, static_cast<size_t>(count) * sizeof(U));
  if (isCanonical(key.order)) {
    const auto infinity = static_cast<S>(infinityBits<U>(key.order));
    for (int64_t i = 0; i < count; ++i) {
      const U bits = codes[i];
      const S magnitude = static_cast<S>(bits & ~signBit<U>());
      const U number = magnitude == 0 ? U{0} : bits;
      codes[i] = magnitude > infinity ? static_cast<U>(~signBit<U>()) : number;
    }
  }
  const U flip = key.descending ? static_cast<U>(~U{0}) : U{0};
  if (key.order == HLO_SORT_UNSIGNED || key.order == HLO_SORT_SIGNED) {
    const U change = key.order == HLO_SORT_SIGNED ? static_cast<U>(flip ^ signBit<U>()) : flip;
    for (int64_t i = 0; i < count; ++i)
      codes[i] = static_cast<U>(codes[i] ^ change);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const U negative = static_cast<U>(static_cast<S>(codes[i]) >> top);
    codes[i] = static_cast<U>(codes[i] ^ static_cast<U>(negative | signBit<U>()) ^ flip);
  }
}

/// The inverse of encodeMany, for orders in which it has one.
template <typename U> static void decodeMany(const U *codes, int64_t count, SortKey key, char *array) {
  using S = std::make_signed_t<U>;
  constexpr int top = sizeof(U) * 8 - 1;
  const U flip = key.descending ? static_cast<U>(~U{0}) : U{0};
  const bool isInteger = key.order == HLO_SORT_UNSIGNED || key.order == HLO_SORT_SIGNED;
  const U change = key.order == HLO_SORT_SIGNED ? static_cast<U>(flip ^ signBit<U>()) : flip;
  for (int64_t i = 0; i < count; ++i) {
    const U code = static_cast<U>(codes[i] ^ flip);
    const U positive = static_cast<U>(static_cast<S>(code) >> top);
    const U bits = isInteger ? static_cast<U>(codes[i] ^ change)
                             : static_cast<U>(code ^ static_cast<U>(static_cast<U>(~positive) | signBit<U>()));
    std::memcpy(array + i * static_cast<int64_t>(sizeof(U)), &bits, sizeof bits);
  }
}

} // namespace hlo::runtime
