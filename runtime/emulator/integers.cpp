// Integer, logical and bit-field instructions. Compiled for several instruction sets (CMakeLists.txt).

#include "lanes.h"

#include <algorithm>

namespace hlo::emulator {

namespace HLO_EMULATOR_LEVEL {

namespace {

template <typename T, typename Op> void binary(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) { return static_cast<T>(Op::of(a[l], b[l])); });
}
template <typename T, typename Op> void unary(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) { return static_cast<T>(Op::of(a[l])); });
}

struct Add {
  template <typename T> static T of(T x, T y) { return x + y; }
};
struct Sub {
  template <typename T> static T of(T x, T y) { return x - y; }
};
// In 64 bits, where products of 16 bits do not overflow an int.
struct Mul {
  template <typename T> static T of(T x, T y) { return static_cast<T>(uint64_t(x) * uint64_t(y)); }
};
struct And {
  template <typename T> static T of(T x, T y) { return x & y; }
};
struct Or {
  template <typename T> static T of(T x, T y) { return x | y; }
};
struct Xor {
  template <typename T> static T of(T x, T y) { return x ^ y; }
};
struct Not {
  template <typename T> static T of(T x) { return static_cast<T>(~x); }
};
struct LogicalNot {
  template <typename T> static T of(T x) { return x == 0; }
};
struct Min {
  template <typename T> static T of(T x, T y) { return x < y ? x : y; }
};
struct Max {
  template <typename T> static T of(T x, T y) { return x > y ? x : y; }
};
struct Neg {
  template <typename T> static T of(T x) { return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)); }
};
struct Abs {
  template <typename T> static T of(T x) { return x < 0 ? Neg::of(x) : x; }
};
// What the device gives for a division by zero is not specified; this is what it was seen to give.
struct Div {
  template <typename T> static T of(T x, T y) {
    if (y == 0)
      return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (y == -1)
        return Neg::of(x);
    return x / y;
  }
};
struct Rem {
  template <typename T> static T of(T x, T y) {
    if (y == 0)
      return x;
    if constexpr (std::is_signed_v<T>)
      if (y == -1)
        return 0;
    return x % y;
  }
};
struct AddSaturated {
  static int32_t of(int32_t x, int32_t y) {
    return static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(int64_t{x} + y, INT32_MIN), INT32_MAX));
  }
};
struct SubSaturated {
  static int32_t of(int32_t x, int32_t y) {
    return static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(int64_t{x} - y, INT32_MIN), INT32_MAX));
  }
};
template <typename T> struct Wide {};
template <> struct Wide<int16_t> {
  using type = int32_t;
};
template <> struct Wide<uint16_t> {
  using type = uint32_t;
};
template <> struct Wide<int32_t> {
  using type = int64_t;
};
template <> struct Wide<uint32_t> {
  using type = uint64_t;
};
template <> struct Wide<int64_t> {
  using type = __int128;
};
template <> struct Wide<uint64_t> {
  using type = unsigned __int128;
};

struct MulHigh {
  template <typename T> static T of(T x, T y) {
    using W = typename Wide<T>::type;
    return static_cast<T>((static_cast<W>(x) * static_cast<W>(y)) >> (8 * sizeof(T)));
  }
};
template <typename T> void multiplyWide(Warp &warp, const Instruction &i, Mask active) {
  using W = typename Wide<T>::type;
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]);
  assign(warp.lanes<W>(i.operands[0]), active,
         [&](int l) { return static_cast<W>(static_cast<W>(a[l]) * static_cast<W>(b[l])); });
}
template <typename T> void multiplyAddWide(Warp &warp, const Instruction &i, Mask active) {
  using W = typename Wide<T>::type;
  using U = std::make_unsigned_t<W>;
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]);
  const U *c = warp.values<U>(i.operands[3]);
  assign(warp.lanes<U>(i.operands[0]), active,
         [&](int l) { return static_cast<U>(static_cast<U>(static_cast<W>(a[l]) * static_cast<W>(b[l])) + c[l]); });
}
template <typename T, typename Op> void multiplyAdd(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]), *c = warp.values<T>(i.operands[3]);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(Op::of(a[l], b[l])) + static_cast<U>(c[l])));
  });
}

/// Shifts past the width give zeros, or sign bits.
template <typename T, bool Left> void shift(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]);
  const uint32_t *b = warp.values<uint32_t>(i.operands[2]);
  constexpr uint32_t width = 8 * sizeof(T);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) -> T {
    const uint32_t by = b[l];
    if constexpr (Left)
      return by < width ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(a[l]) << by) : T(0);
    else if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a[l] >> std::min(by, width - 1));
    else
      return by < width ? static_cast<T>(a[l] >> by) : T(0);
  });
}

template <bool Left, bool Wrap> void funnel(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]), *b = warp.values<uint32_t>(i.operands[2]),
                 *c = warp.values<uint32_t>(i.operands[3]);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) {
    const uint32_t by = Wrap ? c[l] & 31 : std::min(c[l], 32u);
    const uint64_t both = uint64_t{b[l]} << 32 | a[l];
    return static_cast<uint32_t>(Left ? (both << by) >> 32 : both >> by);
  });
}

template <typename T> void extract(Warp &warp, const Instruction &i, Mask active) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  const T *a = warp.values<T>(i.operands[1]);
  const uint32_t *b = warp.values<uint32_t>(i.operands[2]), *c = warp.values<uint32_t>(i.operands[3]);
  assign(warp.lanes<T>(i.operands[0]), active, [&](int l) -> T {
    const uint32_t from = b[l] & 255, length = c[l] & 255;
    if (length == 0)
      return 0;
    const bool sign = std::is_signed_v<T> && a[l] < 0;
    U value = from < width ? static_cast<U>(a[l]) >> from : 0;
    if (sign && from > 0)
      value |= from < width ? ~U(0) << (width - from) : ~U(0);
    if (length >= width)
      return static_cast<T>(value);
    const U mask = (U(1) << length) - 1;
    // The sign is the field's last bit, or the value's where the field ends beyond it.
    const bool negative = std::is_signed_v<T> && (value >> (length - 1) & 1);
    return static_cast<T>(negative ? value | ~mask : value & mask);
  });
}

template <typename U> void insert(Warp &warp, const Instruction &i, Mask active) {
  constexpr uint32_t width = 8 * sizeof(U);
  const U *a = warp.values<U>(i.operands[1]), *b = warp.values<U>(i.operands[2]);
  const uint32_t *c = warp.values<uint32_t>(i.operands[3]), *d = warp.values<uint32_t>(i.operands[4]);
  assign(warp.lanes<U>(i.operands[0]), active, [&](int l) {
    const uint32_t from = c[l] & 255, length = d[l] & 255;
    if (length == 0 || from >= width)
      return b[l];
    const U field = length >= width ? ~U(0) : (U(1) << length) - 1;
    return static_cast<U>((b[l] & ~(field << from)) | (a[l] & field) << from);
  });
}

template <typename T, typename F> void count(Warp &warp, const Instruction &i, Mask active, F f) {
  const T *a = warp.values<T>(i.operands[1]);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) { return static_cast<uint32_t>(f(a[l])); });
}
template <typename T> void population(Warp &w, const Instruction &i, Mask m) {
  count<T>(w, i, m, [](T x) { return __builtin_popcountll(static_cast<uint64_t>(x)); });
}
template <typename T> void leadingZeros(Warp &w, const Instruction &i, Mask m) {
  count<T>(w, i, m, [](T x) { return x == 0 ? 8 * sizeof(T) : __builtin_clzll(uint64_t{x}) - (64 - 8 * sizeof(T)); });
}
template <typename T, bool Shift> void findBit(Warp &w, const Instruction &i, Mask m) {
  using U = std::make_unsigned_t<T>;
  count<T>(w, i, m, [](T x) -> uint32_t {
    const U u = static_cast<U>(std::is_signed_v<T> && x < 0 ? ~x : x);
    if (u == 0)
      return ~0u;
    const uint32_t at = 63 - __builtin_clzll(uint64_t{u});
    return Shift ? 8 * sizeof(T) - 1 - at : at;
  });
}
struct Reverse {
  template <typename T> static T of(T x) {
    T result = 0;
    for (size_t bit = 0; bit < 8 * sizeof(T); ++bit)
      result |= (x >> bit & 1) << (8 * sizeof(T) - 1 - bit);
    return result;
  }
};

void permute(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]), *b = warp.values<uint32_t>(i.operands[2]),
                 *c = warp.values<uint32_t>(i.operands[3]);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) {
    const uint64_t both = uint64_t{b[l]} << 32 | a[l];
    uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t selector = c[l] >> (4 * k) & 15;
      uint32_t byte = static_cast<uint32_t>(both >> (8 * (selector & 7)) & 255);
      if (selector & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
}

void lookup(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]), *b = warp.values<uint32_t>(i.operands[2]),
                 *c = warp.values<uint32_t>(i.operands[3]), *table = warp.values<uint32_t>(i.operands[4]);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) {
    uint32_t result = 0;
    for (int k = 0; k < 8; ++k)
      if (table[l] >> k & 1)
        result |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
    return result;
  });
}

template <typename A, typename B> void dotBytes(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]), *b = warp.values<uint32_t>(i.operands[2]),
                 *c = warp.values<uint32_t>(i.operands[3]);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) {
    uint32_t sum = c[l];
    for (int k = 0; k < 32; k += 8)
      sum += static_cast<uint32_t>(static_cast<A>(a[l] >> k) * static_cast<B>(b[l] >> k));
    return sum;
  });
}

template <typename T> void absoluteDifference(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]), *b = warp.values<T>(i.operands[2]), *c = warp.values<T>(i.operands[3]);
  assign(warp.lanes<T>(i.operands[0]), active,
         [&](int l) { return static_cast<T>(c[l] + (a[l] < b[l] ? b[l] - a[l] : a[l] - b[l])); });
}

/// Sums with carry: `In` adds the carry, `Out` sets it.
template <typename U, bool Subtract, bool In, bool Out> void extended(Warp &warp, const Instruction &i, Mask active) {
  const U *a = warp.values<U>(i.operands[1]), *b = warp.values<U>(i.operands[2]);
  U *d = warp.lanes<U>(i.operands[0]);
  Mask carry = warp.carry;
  forEach(active, [&](int l) {
    const U in = In ? warp.carry >> l & 1 : 0;
    const unsigned __int128 wide =
        Subtract ? static_cast<unsigned __int128>(a[l]) - b[l] - in : static_cast<unsigned __int128>(a[l]) + b[l] + in;
    d[l] = static_cast<U>(wide);
    if (Out)
      carry = (carry & ~(Mask{1} << l)) | Mask(wide >> (8 * sizeof(U)) & 1) << l;
  });
  warp.carry = carry;
}
template <typename U, bool High, bool In, bool Out> void extendedMad(Warp &warp, const Instruction &i, Mask active) {
  const U *a = warp.values<U>(i.operands[1]), *b = warp.values<U>(i.operands[2]), *c = warp.values<U>(i.operands[3]);
  U *d = warp.lanes<U>(i.operands[0]);
  Mask carry = warp.carry;
  forEach(active, [&](int l) {
    const U product = High ? MulHigh::of(a[l], b[l]) : Mul::of(a[l], b[l]);
    const unsigned __int128 wide = static_cast<unsigned __int128>(product) + c[l] + (In ? warp.carry >> l & 1 : 0);
    d[l] = static_cast<U>(wide);
    if (Out)
      carry = (carry & ~(Mask{1} << l)) | Mask(wide >> (8 * sizeof(U)) & 1) << l;
  });
  warp.carry = carry;
}

template <typename Op> void logical(Warp &warp, const Instruction &i, Mask active) {
  warp.setPredicate(i.operands[0], Op::of(warp.predicate(i.operands[1]), warp.predicate(i.operands[2])), active);
}
void invert(Warp &warp, const Instruction &i, Mask active) {
  warp.setPredicate(i.operands[0], ~warp.predicate(i.operands[1]), active);
}

template <typename Op> void addUnsigned(HandlerTable &t, const std::string &name, const char *kind) {
  t[name + "." + kind + "16"] = binary<uint16_t, Op>;
  t[name + "." + kind + "32"] = binary<uint32_t, Op>;
  t[name + "." + kind + "64"] = binary<uint64_t, Op>;
}
template <typename Op> void addBoth(HandlerTable &t, const std::string &name) {
  addUnsigned<Op>(t, name, "u");
  t[name + ".s16"] = binary<int16_t, Op>;
  t[name + ".s32"] = binary<int32_t, Op>;
  t[name + ".s64"] = binary<int64_t, Op>;
}
template <typename Op> void addPacked16(HandlerTable &t, const std::string &name) {
  t[name] = [](Warp &warp, const Instruction &i, Mask active) {
    using T = typename Op::Type;
    const uint32_t *a = warp.values<uint32_t>(i.operands[1]), *b = warp.values<uint32_t>(i.operands[2]);
    assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) {
      const uint16_t low = static_cast<uint16_t>(Op::Base::of(static_cast<T>(a[l]), static_cast<T>(b[l])));
      const uint16_t high = static_cast<uint16_t>(Op::Base::of(static_cast<T>(a[l] >> 16), static_cast<T>(b[l] >> 16)));
      return low | uint32_t{high} << 16;
    });
  };
}
template <typename T, typename B> struct Packed {
  using Type = T;
  using Base = B;
};

} // namespace

void addIntegers(HandlerTable &t) {
  addUnsigned<Add>(t, "add", "i"), addUnsigned<Sub>(t, "sub", "i"), addUnsigned<Mul>(t, "mul.lo", "i");
  addUnsigned<And>(t, "and", "b"), addUnsigned<Or>(t, "or", "b"), addUnsigned<Xor>(t, "xor", "b");
  addBoth<Min>(t, "min"), addBoth<Max>(t, "max"), addBoth<Div>(t, "div"), addBoth<Rem>(t, "rem");
  addBoth<MulHigh>(t, "mul.hi");
  addPacked16<Packed<uint16_t, Add>>(t, "add.u16x2");
  t["add.s16x2"] = t["add.u16x2"];
  addPacked16<Packed<uint16_t, Min>>(t, "min.u16x2");
  addPacked16<Packed<uint16_t, Max>>(t, "max.u16x2");
  addPacked16<Packed<int16_t, Min>>(t, "min.s16x2");
  addPacked16<Packed<int16_t, Max>>(t, "max.s16x2");
  t["add.sat.s32"] = binary<int32_t, AddSaturated>;
  t["sub.sat.s32"] = binary<int32_t, SubSaturated>;
  t["mul.wide.s16"] = multiplyWide<int16_t>, t["mul.wide.u16"] = multiplyWide<uint16_t>;
  t["mul.wide.s32"] = multiplyWide<int32_t>, t["mul.wide.u32"] = multiplyWide<uint32_t>;
  t["mad.wide.s16"] = multiplyAddWide<int16_t>, t["mad.wide.u16"] = multiplyAddWide<uint16_t>;
  t["mad.wide.s32"] = multiplyAddWide<int32_t>, t["mad.wide.u32"] = multiplyAddWide<uint32_t>;
  t["mad.lo.i16"] = multiplyAdd<uint16_t, Mul>, t["mad.lo.i32"] = multiplyAdd<uint32_t, Mul>;
  t["mad.lo.i64"] = multiplyAdd<uint64_t, Mul>;
  t["mad.hi.s32"] = multiplyAdd<int32_t, MulHigh>, t["mad.hi.u32"] = multiplyAdd<uint32_t, MulHigh>;
  t["mad.hi.s64"] = multiplyAdd<int64_t, MulHigh>, t["mad.hi.u64"] = multiplyAdd<uint64_t, MulHigh>;
  t["neg.s16"] = unary<int16_t, Neg>, t["neg.s32"] = unary<int32_t, Neg>, t["neg.s64"] = unary<int64_t, Neg>;
  t["abs.s16"] = unary<int16_t, Abs>, t["abs.s32"] = unary<int32_t, Abs>, t["abs.s64"] = unary<int64_t, Abs>;
  t["not.b16"] = unary<uint16_t, Not>, t["not.b32"] = unary<uint32_t, Not>, t["not.b64"] = unary<uint64_t, Not>;
  t["cnot.b16"] = unary<uint16_t, LogicalNot>, t["cnot.b32"] = unary<uint32_t, LogicalNot>;
  t["cnot.b64"] = unary<uint64_t, LogicalNot>;
  t["shl.b16"] = shift<uint16_t, true>, t["shl.b32"] = shift<uint32_t, true>, t["shl.b64"] = shift<uint64_t, true>;
  t["shr.u16"] = shift<uint16_t, false>, t["shr.u32"] = shift<uint32_t, false>, t["shr.u64"] = shift<uint64_t, false>;
  t["shr.s16"] = shift<int16_t, false>, t["shr.s32"] = shift<int32_t, false>, t["shr.s64"] = shift<int64_t, false>;
  t["shf.l.wrap.b32"] = funnel<true, true>, t["shf.r.wrap.b32"] = funnel<false, true>;
  t["shf.l.clamp.b32"] = funnel<true, false>, t["shf.r.clamp.b32"] = funnel<false, false>;
  t["bfe.u32"] = extract<uint32_t>, t["bfe.s32"] = extract<int32_t>;
  t["bfe.u64"] = extract<uint64_t>, t["bfe.s64"] = extract<int64_t>;
  t["bfi.b32"] = insert<uint32_t>, t["bfi.b64"] = insert<uint64_t>;
  t["popc.b32"] = population<uint32_t>, t["popc.b64"] = population<uint64_t>;
  t["clz.b32"] = leadingZeros<uint32_t>, t["clz.b64"] = leadingZeros<uint64_t>;
  t["bfind.u32"] = findBit<uint32_t, false>, t["bfind.s32"] = findBit<int32_t, false>;
  t["bfind.u64"] = findBit<uint64_t, false>, t["bfind.s64"] = findBit<int64_t, false>;
  t["bfind.shiftamt.u32"] = findBit<uint32_t, true>, t["bfind.shiftamt.s32"] = findBit<int32_t, true>;
  t["bfind.shiftamt.u64"] = findBit<uint64_t, true>, t["bfind.shiftamt.s64"] = findBit<int64_t, true>;
  t["brev.b32"] = unary<uint32_t, Reverse>, t["brev.b64"] = unary<uint64_t, Reverse>;
  t["prmt.b32"] = permute;
  t["lop3.b32"] = lookup;
  t["dp4a.u32.u32"] = dotBytes<uint8_t, uint8_t>, t["dp4a.s32.s32"] = dotBytes<int8_t, int8_t>;
  t["dp4a.u32.s32"] = dotBytes<uint8_t, int8_t>, t["dp4a.s32.u32"] = dotBytes<int8_t, uint8_t>;
  t["sad.s32"] = absoluteDifference<int32_t>, t["sad.u32"] = absoluteDifference<uint32_t>;
  t["sad.s64"] = absoluteDifference<int64_t>, t["sad.u64"] = absoluteDifference<uint64_t>;
  t["add.cc.i32"] = extended<uint32_t, false, false, true>, t["add.cc.i64"] = extended<uint64_t, false, false, true>;
  t["addc.i32"] = extended<uint32_t, false, true, false>, t["addc.i64"] = extended<uint64_t, false, true, false>;
  t["addc.cc.i32"] = extended<uint32_t, false, true, true>, t["addc.cc.i64"] = extended<uint64_t, false, true, true>;
  t["sub.cc.i32"] = extended<uint32_t, true, false, true>, t["sub.cc.i64"] = extended<uint64_t, true, false, true>;
  t["subc.i32"] = extended<uint32_t, true, true, false>, t["subc.i64"] = extended<uint64_t, true, true, false>;
  t["subc.cc.i32"] = extended<uint32_t, true, true, true>, t["subc.cc.i64"] = extended<uint64_t, true, true, true>;
  t["mad.lo.cc.i32"] = extendedMad<uint32_t, false, false, true>,
  t["mad.hi.cc.u32"] = extendedMad<uint32_t, true, false, true>;
  t["madc.lo.cc.i32"] = extendedMad<uint32_t, false, true, true>,
  t["madc.hi.cc.u32"] = extendedMad<uint32_t, true, true, true>;
  t["madc.lo.i32"] = extendedMad<uint32_t, false, true, false>,
  t["madc.hi.u32"] = extendedMad<uint32_t, true, true, false>;
  t["mad.lo.cc.i64"] = extendedMad<uint64_t, false, false, true>,
  t["mad.hi.cc.u64"] = extendedMad<uint64_t, true, false, true>;
  t["madc.lo.cc.i64"] = extendedMad<uint64_t, false, true, true>,
  t["madc.hi.cc.u64"] = extendedMad<uint64_t, true, true, true>;
  t["madc.lo.i64"] = extendedMad<uint64_t, false, true, false>,
  t["madc.hi.u64"] = extendedMad<uint64_t, true, true, false>;
  t["and.pred"] = logical<And>, t["or.pred"] = logical<Or>, t["xor.pred"] = logical<Xor>, t["not.pred"] = invert;
}

} // namespace HLO_EMULATOR_LEVEL

} // namespace hlo::emulator
