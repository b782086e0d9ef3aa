// Floating-point formats narrower than 32 bits, and rounding to any of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace hlo::emulator {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, Away };

/// A format of 1 + exponent + mantissa bits. `infinite`: the top exponent means infinity and NaN, as IEEE has it;
/// otherwise only all ones is NaN (E4M3).
struct Format {
  int exponent, mantissa;
  bool infinite = true;
  constexpr int bits() const { return 1 + exponent + mantissa; }
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
};
constexpr Format Half{5, 10}, Brain{8, 7}, Tensor{8, 10}, E4M3{4, 3, false}, E5M2{5, 2};

inline double roundInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::Away:
    return std::round(value);
  default:
    return std::nearbyint(value);
  }
}

/// The bits of a value rounded once. `finite`: what overflows becomes the largest finite value.
inline uint32_t encode(Format format, double value, Rounding rounding = Rounding::Nearest, bool finite = false) {
  const uint32_t sign = std::signbit(value) ? 1u << (format.bits() - 1) : 0;
  const uint32_t top = ((1u << format.exponent) - 1) << format.mantissa;
  const uint32_t ones = (1u << format.mantissa) - 1;
  const uint32_t nan = format.bits() == 16 ? 0x7FFF : format.bits() == 19 ? 0x3FFFF : 0x7F;
  const uint32_t largest = format.infinite ? top - 1 : (top | ones) - 1;
  if (std::isnan(value))
    return nan;
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(value))
    return sign | (finite ? largest : format.infinite ? top : nan);
  const int least = 1 - format.bias();
  const int exponent = std::max(std::ilogb(magnitude), least);
  const double quantum = std::ldexp(1.0, exponent - format.mantissa);
  if (sign && rounding == Rounding::Down)
    rounding = Rounding::Up;
  else if (sign && rounding == Rounding::Up)
    rounding = Rounding::Down;
  const double steps = roundInteger(magnitude / quantum, rounding);
  uint64_t result; // steps of 2^(mantissa + 1) carry into the exponent by themselves
  if (steps < (1 << format.mantissa) && exponent == least)
    result = static_cast<uint64_t>(steps);
  else
    result = (static_cast<uint64_t>(exponent - least + 1) << format.mantissa) +
             (static_cast<uint64_t>(steps) - (1ull << format.mantissa));
  if (result > largest) {
    const bool towards = rounding == Rounding::Zero || rounding == Rounding::Down;
    return sign | (finite || towards ? largest : format.infinite ? top : nan);
  }
  return sign | static_cast<uint32_t>(result);
}

inline double decode(Format format, uint32_t encoded) {
  const uint32_t top = (1u << format.exponent) - 1;
  const uint32_t exponent = encoded >> format.mantissa & top;
  const uint32_t mantissa = encoded & ((1u << format.mantissa) - 1);
  const bool negative = encoded >> (format.bits() - 1) & 1;
  double value;
  if (exponent == top && format.infinite)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (!format.infinite && exponent == top && mantissa == (1u << format.mantissa) - 1)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias() - format.mantissa);
  else
    value = std::ldexp(static_cast<double>(mantissa | 1u << format.mantissa),
                       static_cast<int>(exponent) - format.bias() - format.mantissa);
  return negative ? -value : value;
}

inline float decodeHalf(uint16_t encoded) {
  const uint32_t magnitude = encoded & 0x7FFF;
  uint32_t wide;
  if (magnitude < 0x400) { // subnormal
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    std::memcpy(&wide, &value, 4);
  } else {
    wide = (magnitude << 13) + ((magnitude >= 0x7C00 ? 255u - 31u : 127u - 15u) << 23);
  }
  wide |= static_cast<uint32_t>(encoded & 0x8000) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

inline float decodeBrain(uint16_t encoded) {
  const uint32_t wide = static_cast<uint32_t>(encoded) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

inline uint16_t encodeBrain(float value) {
  uint32_t wide;
  std::memcpy(&wide, &value, 4);
  if (value != value)
    return 0x7FFF;
  return static_cast<uint16_t>((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
}

inline uint16_t encodeHalf(float value) {
  uint32_t wide;
  std::memcpy(&wide, &value, 4);
  const uint32_t sign = wide >> 16 & 0x8000, magnitude = wide & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return 0x7FFF;
  if (magnitude >= 0x477FF000) // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) { // below the least normal: the addition rounds at 2^-24
    float absolute;
    std::memcpy(&absolute, &magnitude, 4);
    const float shifted = absolute + 0.5f;
    uint32_t sum;
    std::memcpy(&sum, &shifted, 4);
    return static_cast<uint16_t>(sign | (sum - 0x3F000000));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13));
}

} // namespace hlo::emulator
