// Conversions between all types, in all rounding modes.

#include "formats.h"
#include "lanes.h"

#include <cfenv>

namespace hlo::emulator {

namespace {

bool isFloat(uint32_t type) { return type >= F16 && type <= F64; }

template <typename T, typename F> void each(T *out, F f) {
  for (int l = 0; l < Lanes; ++l)
    out[l] = f(l);
}

void readIntegers(const Warp &warp, const Operand &operand, uint32_t type, int64_t *value) {
  uint64_t raw[Lanes];
  loadRaw(warp, operand, raw);
  switch (type) {
  case S8:
    return each(value, [&](int l) -> int64_t { return static_cast<int8_t>(raw[l]); });
  case U8:
    return each(value, [&](int l) -> int64_t { return static_cast<uint8_t>(raw[l]); });
  case S16:
    return each(value, [&](int l) -> int64_t { return static_cast<int16_t>(raw[l]); });
  case U16:
    return each(value, [&](int l) -> int64_t { return static_cast<uint16_t>(raw[l]); });
  case S32:
    return each(value, [&](int l) -> int64_t { return static_cast<int32_t>(raw[l]); });
  case U32:
    return each(value, [&](int l) -> int64_t { return static_cast<uint32_t>(raw[l]); });
  default:
    std::memcpy(value, raw, sizeof raw);
  }
}

void readFloats(const Warp &warp, const Operand &operand, uint32_t type, double *value) {
  switch (type) {
  case F16: {
    const uint16_t *a = warp.values<uint16_t>(operand);
    return each(value, [&](int l) { return double{decodeHalf(a[l])}; });
  }
  case BF16: {
    const uint16_t *a = warp.values<uint16_t>(operand);
    return each(value, [&](int l) { return double{decodeBrain(a[l])}; });
  }
  case F32: {
    const float *a = warp.values<float>(operand);
    return each(value, [&](int l) { return double{a[l]}; });
  }
  default:
    std::memcpy(value, warp.values<double>(operand), Lanes * sizeof(double));
  }
}

int environmentMode(Rounding rounding) {
  return rounding == Rounding::Zero   ? FE_TOWARDZERO
         : rounding == Rounding::Down ? FE_DOWNWARD
         : rounding == Rounding::Up   ? FE_UPWARD
                                      : FE_TONEAREST;
}

float roundToFloat(double value, Rounding rounding) {
  if (value != value)
    return bits<float>(0x7FFFFFFFu);
  if (rounding == Rounding::Nearest)
    return static_cast<float>(value);
  const int before = std::fegetround();
  std::fesetround(environmentMode(rounding));
  volatile double from = value;
  volatile float to = static_cast<float>(from);
  std::fesetround(before);
  return to;
}

uint64_t encodeFloat(double value, uint32_t type, Rounding rounding, uint32_t flags) {
  if (flags & Saturate)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (flags & Relu)
    value = value != value ? value : value > 0 ? value : 0.0;
  switch (type) {
  case F16:
    return encode(Half, value, rounding, flags & FiniteOnly);
  case BF16:
    return encode(Brain, value, rounding, flags & FiniteOnly);
  case F32:
    return bits<uint32_t>(roundToFloat(value, rounding));
  default:
    return bits<uint64_t>(value);
  }
}

/// The nearest double at or towards zero from an integer, odd if that is not exact: rounding it again to fewer bits
/// gives what rounding the integer would.
double oddDouble(int64_t value, bool isUnsigned) {
  const bool negative = !isUnsigned && value < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53) {
    const int shift = 64 - 53 - __builtin_clzll(magnitude);
    const uint64_t lost = magnitude & ((1ull << shift) - 1);
    magnitude = (magnitude >> shift | (lost != 0)) << shift;
  }
  const double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

uint64_t integerToFloat(int64_t value, bool isUnsigned, uint32_t type, Rounding rounding, uint32_t flags) {
  if (type != F64)
    return encodeFloat(oddDouble(value, isUnsigned), type, rounding, flags);
  const int before = std::fegetround();
  std::fesetround(environmentMode(rounding));
  volatile int64_t from = value;
  volatile double to;
  if (isUnsigned)
    to = static_cast<double>(static_cast<uint64_t>(from));
  else
    to = static_cast<double>(from);
  std::fesetround(before);
  return bits<uint64_t>(double{to});
}

/// Out of range gives the nearest end; NaN gives 0, or the top bit if either type has 64 bits.
uint64_t floatToInteger(double value, uint32_t type, uint32_t source) {
  static constexpr int widths[] = {8, 8, 16, 16, 32, 32, 64, 64};
  const int width = widths[type];
  const bool isSigned = type % 2 == 0;
  if (value != value)
    return source == F64 || width == 64 ? 1ull << (width - 1) : 0;
  const double low = isSigned ? -std::ldexp(1.0, width - 1) : 0.0;
  const double high = std::ldexp(1.0, isSigned ? width - 1 : width); // one past
  if (value <= low)
    return isSigned ? ~0ull << (width - 1) : 0;
  if (value >= high)
    return isSigned ? (1ull << (width - 1)) - 1 : width == 64 ? ~0ull : (1ull << width) - 1;
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
}

int64_t clampInteger(int64_t value, uint32_t type, uint32_t source) {
  static constexpr int64_t lows[] = {INT8_MIN, 0, INT16_MIN, 0, INT32_MIN, 0, INT64_MIN, 0};
  static constexpr int64_t highs[] = {INT8_MAX,  UINT8_MAX,  INT16_MAX, UINT16_MAX,
                                      INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MAX};
  if (source == U64 && value < 0) // above all that a signed type can hold
    return type == U64 ? value : highs[type];
  if (type == U64)
    return std::max<int64_t>(value, 0);
  return std::min(std::max(value, lows[type]), highs[type]);
}

double flushFloat(double value) { return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value; }

void convert(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
  const Rounding rounding = static_cast<Rounding>(detail.rounding);
  uint64_t result[Lanes] = {};
  if (!isFloat(detail.source)) {
    int64_t value[Lanes];
    readIntegers(warp, i.operands[1], detail.source, value);
    if (isFloat(detail.type))
      forEach(active,
              [&](int l) { result[l] = integerToFloat(value[l], detail.source % 2, detail.type, rounding, i.flags); });
    else if (i.flags & Saturate)
      forEach(active,
              [&](int l) { result[l] = static_cast<uint64_t>(clampInteger(value[l], detail.type, detail.source)); });
    else
      switch (detail.type) {
      case S8:
        each(result, [&](int l) { return static_cast<uint64_t>(int64_t{static_cast<int8_t>(value[l])}); });
        break;
      case U8:
        each(result, [&](int l) { return uint64_t{static_cast<uint8_t>(value[l])}; });
        break;
      case S16:
        each(result, [&](int l) { return static_cast<uint64_t>(int64_t{static_cast<int16_t>(value[l])}); });
        break;
      case U16:
        each(result, [&](int l) { return uint64_t{static_cast<uint16_t>(value[l])}; });
        break;
      case S32:
        each(result, [&](int l) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value[l])}); });
        break;
      case U32:
        each(result, [&](int l) { return uint64_t{static_cast<uint32_t>(value[l])}; });
        break;
      default:
        std::memcpy(result, value, sizeof value);
      }
    return storeRaw(warp, i.operands[0], result, active);
  }
  double value[Lanes];
  readFloats(warp, i.operands[1], detail.source, value);
  const bool ftz = i.flags & FlushSubnormals;
  forEach(active, [&](int l) {
    double v = ftz && detail.source == F32 ? flushFloat(value[l]) : value[l];
    if (detail.integral)
      v = roundInteger(v, rounding);
    if (!isFloat(detail.type)) {
      result[l] = floatToInteger(v, detail.type, detail.source);
      return;
    }
    result[l] = encodeFloat(v, detail.type, rounding, i.flags);
    if (ftz && detail.type == F32)
      result[l] = bits<uint32_t>(static_cast<float>(flushFloat(bits<float>(static_cast<uint32_t>(result[l])))));
  });
  storeRaw(warp, i.operands[0], result, active);
}

/// Two floats into one register, the first operand in the upper half.
template <int Exponent, int Mantissa, bool Infinite> void packFloats(Warp &warp, const Instruction &i, Mask active) {
  constexpr Format format{Exponent, Mantissa, Infinite};
  const float *a = warp.values<float>(i.operands[1]), *b = warp.values<float>(i.operands[2]);
  const Rounding rounding = static_cast<Rounding>(detailOf(i).rounding);
  uint64_t result[Lanes] = {};
  auto one = [&](float v) -> uint64_t {
    const double value = i.flags & Relu && v == v ? std::max(v, 0.0f) : v;
    return encode(format, value, rounding, i.flags & FiniteOnly);
  };
  forEach(active, [&](int l) { result[l] = one(a[l]) << format.bits() | one(b[l]); });
  storeRaw(warp, i.operands[0], result, active);
}

/// Two 8-bit floats to two halves.
template <int Exponent, int Mantissa, bool Infinite> void unpackFloats(Warp &warp, const Instruction &i, Mask active) {
  constexpr Format format{Exponent, Mantissa, Infinite};
  const uint16_t *a = warp.values<uint16_t>(i.operands[1]);
  uint64_t result[Lanes] = {};
  forEach(active, [&](int l) {
    result[l] = encode(Half, decode(format, a[l] & 255)) | uint64_t{encode(Half, decode(format, a[l] >> 8))} << 16;
  });
  storeRaw(warp, i.operands[0], result, active);
}

/// Two halves to two 8-bit floats.
template <int Exponent, int Mantissa, bool Infinite> void narrowHalves(Warp &warp, const Instruction &i, Mask active) {
  constexpr Format format{Exponent, Mantissa, Infinite};
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]);
  uint64_t result[Lanes] = {};
  forEach(active, [&](int l) {
    auto one = [&](uint32_t half) {
      return uint64_t{encode(format, decodeHalf(static_cast<uint16_t>(half)), Rounding::Nearest, i.flags & FiniteOnly)};
    };
    result[l] = one(a[l]) | one(a[l] >> 16) << 8;
  });
  storeRaw(warp, i.operands[0], result, active);
}

void toTensorFloat(Warp &warp, const Instruction &i, Mask active) {
  const float *a = warp.values<float>(i.operands[1]);
  const Rounding rounding = static_cast<Rounding>(detailOf(i).rounding);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) { return encode(Tensor, a[l], rounding) << 13; });
}

} // namespace

void addConversions(HandlerTable &t) {
  t["cvt"] = convert;
  t["cvt.f16x2.f32"] = packFloats<5, 10, true>;
  t["cvt.bf16x2.f32"] = packFloats<8, 7, true>;
  t["cvt.e4m3x2.f32"] = packFloats<4, 3, false>;
  t["cvt.e5m2x2.f32"] = packFloats<5, 2, true>;
  t["cvt.f16x2.e4m3x2"] = unpackFloats<4, 3, false>;
  t["cvt.f16x2.e5m2x2"] = unpackFloats<5, 2, true>;
  t["cvt.e4m3x2.f16x2"] = narrowHalves<4, 3, false>;
  t["cvt.e5m2x2.f16x2"] = narrowHalves<5, 2, true>;
  t["cvt.tf32.f32"] = toTensorFloat;
}

} // namespace hlo::emulator
