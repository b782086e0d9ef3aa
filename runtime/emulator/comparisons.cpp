// Comparisons, selections and moves. Compiled for several instruction sets (CMakeLists.txt).

#include "formats.h"
#include "lanes.h"

#include <cmath>

namespace hlo::emulator {

namespace HLO_EMULATOR_LEVEL {

namespace {

void conclude(Warp &warp, const Instruction &i, Mask first, Mask second, Mask active) {
  // Operands: result, second result (or the first again), two values, and what they are combined with.
  if (i.flags & (CombineAnd | CombineOr | CombineXor)) {
    Mask with = warp.predicate(i.operands[4]);
    if (i.flags & CombineNegated)
      with = ~with;
    auto combine = [&](Mask value) {
      return i.flags & CombineAnd ? value & with : i.flags & CombineOr ? value | with : value ^ with;
    };
    first = combine(first);
    second = combine(second);
  }
  if (i.flags & SecondResult)
    warp.setPredicate(i.operands[1], second, active);
  warp.setPredicate(i.operands[0], first, active);
}

template <typename T, typename Compare> Mask compared(const T *a, const T *b, Compare compare) {
  Mask result = 0;
  for (int l = 0; l < Lanes; ++l)
    result |= static_cast<Mask>(compare(a[l], b[l])) << l;
  return result;
}

struct Eq {
  template <typename T> static bool of(T x, T y) { return x == y; }
};
struct Ne {
  template <typename T> static bool of(T x, T y) { return x < y || x > y; }
};
struct Lt {
  template <typename T> static bool of(T x, T y) { return x < y; }
};
struct Le {
  template <typename T> static bool of(T x, T y) { return x <= y; }
};
struct Gt {
  template <typename T> static bool of(T x, T y) { return x > y; }
};
struct Ge {
  template <typename T> static bool of(T x, T y) { return x >= y; }
};
struct Num {
  template <typename T> static bool of(T x, T y) { return x == x && y == y; }
};
/// True also if an operand is a NaN.
template <typename Op> struct Unordered {
  template <typename T> static bool of(T x, T y) { return !Num::of(x, y) || Op::of(x, y); }
};
struct IsNan {
  template <typename T> static bool of(T x, T y) { return !Num::of(x, y); }
};

template <typename T, typename Op> void integers(Warp &warp, const Instruction &i, Mask active) {
  const Mask result = compared(warp.values<T>(i.operands[2]), warp.values<T>(i.operands[3]), Op::template of<T>);
  conclude(warp, i, result, ~result, active);
}

template <typename T, typename Op> void floats(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[2]), *b = warp.values<T>(i.operands[3]);
  Mask result;
  if (i.flags & FlushSubnormals) {
    auto flush = [](T x) { return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x; };
    result = compared(a, b, [&](T x, T y) { return Op::of(flush(x), flush(y)); });
  } else {
    result = compared(a, b, Op::template of<T>);
  }
  conclude(warp, i, result, ~result, active);
}

template <float (*Decode)(uint16_t), typename Op> void halves(Warp &warp, const Instruction &i, Mask active) {
  const Mask result = compared(warp.values<uint16_t>(i.operands[2]), warp.values<uint16_t>(i.operands[3]),
                               [](uint16_t x, uint16_t y) { return Op::of(Decode(x), Decode(y)); });
  conclude(warp, i, result, ~result, active);
}

template <float (*Decode)(uint16_t), typename Op> void packed(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[2]), *b = warp.values<uint32_t>(i.operands[3]);
  auto at = [&](int shift) {
    return compared(a, b, [shift](uint32_t x, uint32_t y) {
      return Op::of(Decode(static_cast<uint16_t>(x >> shift)), Decode(static_cast<uint16_t>(y >> shift)));
    });
  };
  conclude(warp, i, at(0), at(16), active);
}

template <typename Op> void addInteger(HandlerTable &t, const char *name) {
  const std::string prefix = std::string("setp.") + name + ".";
  t[prefix + "u16"] = integers<uint16_t, Op>, t[prefix + "s16"] = integers<int16_t, Op>;
  t[prefix + "u32"] = integers<uint32_t, Op>, t[prefix + "s32"] = integers<int32_t, Op>;
  t[prefix + "u64"] = integers<uint64_t, Op>, t[prefix + "s64"] = integers<int64_t, Op>;
}

template <typename Op> void addFloat(HandlerTable &t, const std::string &name) {
  const std::string prefix = "setp." + name + ".";
  t[prefix + "f32"] = floats<float, Op>;
  t[prefix + "f64"] = floats<double, Op>;
  t[prefix + "f16"] = halves<decodeHalf, Op>;
  t[prefix + "bf16"] = halves<decodeBrain, Op>;
  t[prefix + "f16x2"] = packed<decodeHalf, Op>;
  t[prefix + "bf16x2"] = packed<decodeBrain, Op>;
}
template <typename Op> void addOrderedAndNot(HandlerTable &t, const std::string &name) {
  addFloat<Op>(t, name);
  addFloat<Unordered<Op>>(t, name + "u");
  addInteger<Op>(t, name.c_str());
}

template <typename T> void select(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]);
  const Mask choice = warp.predicate(i.operands[3]);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) { return choice >> l & 1 ? a[l] : b[l]; });
}

template <typename T> void move(Warp &warp, const Instruction &i, Mask active) {
  T *d = warp.lanes<T>(i.operands[0]);
  const T *a = warp.values<T>(i.operands[1]);
  if (active == AllLanes)
    std::memcpy(d, a, Lanes * sizeof(T));
  else
    forEach(active, [&](int l) { d[l] = a[l]; });
}

void movePredicate(Warp &warp, const Instruction &i, Mask active) {
  warp.setPredicate(i.operands[0], warp.predicate(i.operands[1]), active);
}

/// d = {a, b, ...}, the first lowest.
void pack(Warp &warp, const Instruction &i, Mask active) {
  uint64_t whole[Lanes] = {}, part[Lanes];
  const int parts = i.operandCount - 1, width = 8 * i.operands[0].width / parts;
  for (int k = 0; k < parts; ++k) {
    loadRaw(warp, i.operands[k + 1], part);
    const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    for (int l = 0; l < Lanes; ++l)
      whole[l] |= (part[l] & mask) << (k * width);
  }
  storeRaw(warp, i.operands[0], whole, active);
}

/// {d, e, ...} = a; operands: a, d, e, ...; a destination of width -1 is not wanted.
void unpack(Warp &warp, const Instruction &i, Mask active) {
  uint64_t whole[Lanes], part[Lanes];
  const int parts = i.operandCount - 1, width = 8 * i.operands[0].width / parts;
  loadRaw(warp, i.operands[0], whole);
  for (int k = 0; k < parts; ++k) {
    if (i.operands[k + 1].width < 0)
      continue;
    const uint64_t mask = (1ull << width) - 1;
    for (int l = 0; l < Lanes; ++l)
      part[l] = whole[l] >> (k * width) & mask;
    storeRaw(warp, i.operands[k + 1], part, active);
  }
}

template <bool (*Is)(double)> void test(Warp &warp, const Instruction &i, Mask active) {
  Mask result = 0;
  for (int l = 0; l < Lanes; ++l) {
    const bool is = i.operands[1].width == 8 ? Is(warp.values<double>(i.operands[1])[l])
                                             : Is(double{warp.values<float>(i.operands[1])[l]});
    result |= static_cast<Mask>(is) << l;
  }
  warp.setPredicate(i.operands[0], result, active);
}
bool isFinite(double x) { return std::isfinite(x); }
bool isInfinite(double x) { return std::isinf(x); }
bool isNumber(double x) { return !std::isnan(x); }
bool isNotANumber(double x) { return std::isnan(x); }

} // namespace

void addComparisons(HandlerTable &t) {
  addOrderedAndNot<Eq>(t, "eq"), addOrderedAndNot<Ne>(t, "ne"), addOrderedAndNot<Lt>(t, "lt");
  addOrderedAndNot<Le>(t, "le"), addOrderedAndNot<Gt>(t, "gt"), addOrderedAndNot<Ge>(t, "ge");
  addFloat<Num>(t, "num"), addFloat<IsNan>(t, "nan");
  t["selp.16"] = select<uint16_t>, t["selp.32"] = select<uint32_t>, t["selp.64"] = select<uint64_t>;
  t["mov.16"] = move<uint16_t>, t["mov.32"] = move<uint32_t>, t["mov.64"] = move<uint64_t>;
  t["mov.pred"] = movePredicate, t["pack"] = pack, t["unpack"] = unpack;
  t["testp.finite"] = test<isFinite>, t["testp.infinite"] = test<isInfinite>;
  t["testp.number"] = test<isNumber>, t["testp.notanumber"] = test<isNotANumber>;
}

} // namespace HLO_EMULATOR_LEVEL

} // namespace hlo::emulator
