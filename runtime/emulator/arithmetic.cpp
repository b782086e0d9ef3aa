// Floating-point arithmetic. Compiled for several instruction sets (CMakeLists.txt).
//
// NaN results of 32 bits and below are the canonical one, as on the device; approximate instructions are computed
// accurately, so what holds here holds there only within their documented error.

#include "formats.h"
#include "lanes.h"

#include <array>
#include <cfenv>

namespace hlo::emulator {

namespace HLO_EMULATOR_LEVEL {

namespace {

struct F16 {
  using Storage = uint16_t;
  using Compute = float;
  static Compute load(Storage s) { return decodeHalf(s); }
  static Storage store(Compute v) { return encodeHalf(v); }
  static Storage storeWide(double v) { return static_cast<Storage>(encode(Half, v)); }
};
struct BF16 {
  using Storage = uint16_t;
  using Compute = float;
  static Compute load(Storage s) { return decodeBrain(s); }
  static Storage store(Compute v) { return encodeBrain(v); }
  static Storage storeWide(double v) { return static_cast<Storage>(encode(Brain, v)); }
};
struct F32 {
  using Storage = float;
  using Compute = float;
  static Compute load(Storage s) { return s; }
  static Storage store(Compute v) { return v == v ? v : bits<float>(0x7FFFFFFFu); }
};
struct F64 {
  using Storage = double;
  using Compute = double;
  static Compute load(Storage s) { return s; }
  static Storage store(Compute v) { return v; }
};

template <typename T> T flush(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T(0), value) : value;
}
template <typename T> T saturate(T value) { return value > 0 ? (value < 1 ? value : T(1)) : T(0); }

/// d = op(a...) with .ftz and .sat. N operands.
template <typename T, typename Op, int N> void apply(Warp &warp, const Instruction &i, Mask active) {
  using S = typename T::Storage;
  using C = typename T::Compute;
  const S *a = warp.values<S>(i.operands[1]);
  const S *b = N > 1 ? warp.values<S>(i.operands[2]) : a;
  const S *c = N > 2 ? warp.values<S>(i.operands[3]) : a;
  S *d = warp.lanes<S>(i.operands[0]);
  auto compute = [](C x, C y, C z) {
    if constexpr (N == 1)
      return Op::of(x);
    else if constexpr (N == 2)
      return Op::of(x, y);
    else
      return Op::of(x, y, z);
  };
  if (!(i.flags & (FlushSubnormals | Saturate)))
    return assign(d, active, [&](int l) { return T::store(compute(T::load(a[l]), T::load(b[l]), T::load(c[l]))); });
  const bool ftz = i.flags & FlushSubnormals, sat = i.flags & Saturate;
  assign(d, active, [&](int l) {
    C x = T::load(a[l]), y = T::load(b[l]), z = T::load(c[l]);
    if (ftz)
      x = flush(x), y = flush(y), z = flush(z);
    C r = compute(x, y, z);
    if (ftz)
      r = flush(r);
    return T::store(sat ? saturate(r) : r);
  });
}

/// The same for two values packed in 32 bits.
template <typename T, typename Op, int N> void applyPacked(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]);
  const uint32_t *b = N > 1 ? warp.values<uint32_t>(i.operands[2]) : a;
  const uint32_t *c = N > 2 ? warp.values<uint32_t>(i.operands[3]) : a;
  auto half = [&](uint32_t x, uint32_t y, uint32_t z) {
    typename T::Compute r;
    const auto u = T::load(static_cast<uint16_t>(x)), v = T::load(static_cast<uint16_t>(y)),
               w = T::load(static_cast<uint16_t>(z));
    if constexpr (N == 1)
      r = Op::of(u);
    else if constexpr (N == 2)
      r = Op::of(u, v);
    else
      return static_cast<uint32_t>(T::storeWide(Op::wide(u, v, w)));
    return static_cast<uint32_t>(T::store(r));
  };
  assign(warp.lanes<uint32_t>(i.operands[0]), active,
         [&](int l) { return half(a[l], b[l], c[l]) | half(a[l] >> 16, b[l] >> 16, c[l] >> 16) << 16; });
}

/// The same for two f32 in 64 bits.
template <typename Op, int N> void applyPair(Warp &warp, const Instruction &i, Mask active) {
  using Pair = std::array<float, 2>;
  const Pair *a = warp.values<Pair>(i.operands[1]), *b = warp.values<Pair>(i.operands[2]);
  const Pair *c = N > 2 ? warp.values<Pair>(i.operands[3]) : a;
  const bool ftz = i.flags & FlushSubnormals;
  assign(warp.lanes<Pair>(i.operands[0]), active, [&](int l) {
    Pair made;
    for (int k = 0; k < 2; ++k) {
      float x = a[l][k], y = b[l][k], z = c[l][k];
      if (ftz)
        x = flush(x), y = flush(y), z = flush(z);
      float r;
      if constexpr (N == 2)
        r = Op::of(x, y);
      else
        r = Op::of(x, y, z);
      made[k] = F32::store(ftz ? flush(r) : r);
    }
    return made;
  });
}

struct Add {
  template <typename T> static T of(T x, T y) { return x + y; }
};
struct Sub {
  template <typename T> static T of(T x, T y) { return x - y; }
};
struct Mul {
  template <typename T> static T of(T x, T y) { return x * y; }
};
struct Div {
  template <typename T> static T of(T x, T y) { return x / y; }
};
struct Fma {
  template <typename T> static T of(T x, T y, T z) { return std::fma(x, y, z); }
  static double wide(double x, double y, double z) { return std::fma(x, y, z); }
};
struct Min {
  template <typename T> static T of(T x, T y) {
    if (x == y)
      return std::signbit(x) ? x : y;
    return x != x ? y : y != y ? x : x < y ? x : y;
  }
};
struct Max {
  template <typename T> static T of(T x, T y) {
    if (x == y)
      return std::signbit(x) ? y : x;
    return x != x ? y : y != y ? x : x > y ? x : y;
  }
};
template <typename Op> struct PropagateNan {
  template <typename T> static T of(T x, T y) {
    return x != x || y != y ? std::numeric_limits<T>::quiet_NaN() : Op::of(x, y);
  }
};
struct Rcp {
  template <typename T> static T of(T x) { return T(1) / x; }
};
struct Sqrt {
  template <typename T> static T of(T x) { return std::sqrt(x); }
};
struct Rsqrt {
  static float of(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
  static double of(double x) { return 1.0 / std::sqrt(x); }
};
/// The coarse forms on doubles give the upper 32 bits only.
template <typename Op> struct Coarse {
  static double of(double x) { return bits<double>(bits<uint64_t>(Op::of(x)) & 0xFFFFFFFF00000000ull); }
};
struct Ex2 {
  static float of(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
};
struct Lg2 {
  static float of(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
};
struct Sin {
  static float of(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
};
struct Cos {
  static float of(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
};
struct Tanh {
  static float of(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
};

/// Operations in a rounding mode other than to nearest: the environment's mode is changed around the loop.
template <typename T, typename Op, int N, int Mode> void applyRounded(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]);
  const T *b = N > 1 ? warp.values<T>(i.operands[2]) : a;
  const T *c = N > 2 ? warp.values<T>(i.operands[3]) : a;
  T *d = warp.lanes<T>(i.operands[0]);
  const bool ftz = i.flags & FlushSubnormals, sat = i.flags & Saturate;
  const int before = std::fegetround();
  std::fesetround(Mode);
  forEach(active, [&](int l) {
    volatile T x = a[l], y = b[l], z = c[l];
    if (ftz)
      x = flush<T>(x), y = flush<T>(y), z = flush<T>(z);
    volatile T r;
    if constexpr (N == 1)
      r = Op::of(T(x));
    else if constexpr (N == 2)
      r = Op::of(T(x), T(y));
    else
      r = Op::of(T(x), T(y), T(z));
    T made = r;
    if (ftz)
      made = flush<T>(made);
    if (sat)
      made = saturate<T>(made);
    if (sizeof(T) == 4 && made != made)
      made = static_cast<T>(bits<float>(0x7FFFFFFFu));
    d[l] = made;
  });
  std::fesetround(before);
}

template <typename U, U Sign> void negate(Warp &warp, const Instruction &i, Mask active) {
  const U *a = warp.values<U>(i.operands[1]);
  assign(warp.lanes<U>(i.operands[0]), active, [&](int l) { return static_cast<U>(a[l] ^ Sign); });
}
template <typename U, U Sign> void absolute(Warp &warp, const Instruction &i, Mask active) {
  const U *a = warp.values<U>(i.operands[1]);
  assign(warp.lanes<U>(i.operands[0]), active, [&](int l) { return static_cast<U>(a[l] & ~Sign); });
}
template <typename U, U Sign> void copySign(Warp &warp, const Instruction &i, Mask active) {
  const U *a = warp.values<U>(i.operands[1]), *b = warp.values<U>(i.operands[2]);
  assign(warp.lanes<U>(i.operands[0]), active, [&](int l) { return static_cast<U>((b[l] & ~Sign) | (a[l] & Sign)); });
}

template <typename Op, int N> void addFloats(HandlerTable &t, const std::string &name) {
  t[name + ".f32"] = apply<F32, Op, N>;
  t[name + ".f64"] = apply<F64, Op, N>;
}
template <typename Op, int N> void addHalves(HandlerTable &t, const std::string &name) {
  t[name + ".f16"] = apply<F16, Op, N>;
  t[name + ".bf16"] = apply<BF16, Op, N>;
  t[name + ".f16x2"] = applyPacked<F16, Op, N>;
  t[name + ".bf16x2"] = applyPacked<BF16, Op, N>;
}
template <typename Op, int N> void addRounded(HandlerTable &t, const std::string &name) {
  t[name + ".rz.f32"] = applyRounded<float, Op, N, FE_TOWARDZERO>;
  t[name + ".rm.f32"] = applyRounded<float, Op, N, FE_DOWNWARD>;
  t[name + ".rp.f32"] = applyRounded<float, Op, N, FE_UPWARD>;
  t[name + ".rz.f64"] = applyRounded<double, Op, N, FE_TOWARDZERO>;
  t[name + ".rm.f64"] = applyRounded<double, Op, N, FE_DOWNWARD>;
  t[name + ".rp.f64"] = applyRounded<double, Op, N, FE_UPWARD>;
}

/// A fused operation of halves rounds once.
template <typename T> void fuseHalves(Warp &warp, const Instruction &i, Mask active) {
  const uint16_t *a = warp.values<uint16_t>(i.operands[1]), *b = warp.values<uint16_t>(i.operands[2]),
                 *c = warp.values<uint16_t>(i.operands[3]);
  const bool sat = i.flags & Saturate;
  assign(warp.lanes<uint16_t>(i.operands[0]), active, [&](int l) {
    const double r = std::fma(double{T::load(a[l])}, double{T::load(b[l])}, double{T::load(c[l])});
    return T::storeWide(sat ? saturate(r) : r);
  });
}

} // namespace

void addArithmetic(HandlerTable &t) {
  addFloats<Add, 2>(t, "add"), addHalves<Add, 2>(t, "add"), addRounded<Add, 2>(t, "add");
  addFloats<Sub, 2>(t, "sub"), addHalves<Sub, 2>(t, "sub"), addRounded<Sub, 2>(t, "sub");
  addFloats<Mul, 2>(t, "mul"), addHalves<Mul, 2>(t, "mul"), addRounded<Mul, 2>(t, "mul");
  addFloats<Div, 2>(t, "div"), addRounded<Div, 2>(t, "div");
  addFloats<Fma, 3>(t, "fma"), addRounded<Fma, 3>(t, "fma");
  t["add.f32x2"] = applyPair<Add, 2>;
  t["sub.f32x2"] = applyPair<Sub, 2>;
  t["mul.f32x2"] = applyPair<Mul, 2>;
  t["fma.f32x2"] = applyPair<Fma, 3>;
  t["fma.f16"] = fuseHalves<F16>;
  t["fma.bf16"] = fuseHalves<BF16>;
  t["fma.f16x2"] = applyPacked<F16, Fma, 3>;
  t["fma.bf16x2"] = applyPacked<BF16, Fma, 3>;
  addFloats<Min, 2>(t, "min"), addHalves<Min, 2>(t, "min");
  addFloats<Max, 2>(t, "max"), addHalves<Max, 2>(t, "max");
  t["min.NaN.f32"] = apply<F32, PropagateNan<Min>, 2>;
  t["max.NaN.f32"] = apply<F32, PropagateNan<Max>, 2>;
  addHalves<PropagateNan<Min>, 2>(t, "min.NaN");
  addHalves<PropagateNan<Max>, 2>(t, "max.NaN");
  addFloats<Rcp, 1>(t, "rcp"), addRounded<Rcp, 1>(t, "rcp");
  addFloats<Sqrt, 1>(t, "sqrt"), addRounded<Sqrt, 1>(t, "sqrt");
  addFloats<Rsqrt, 1>(t, "rsqrt");
  t["rcp.approx.ftz.f64"] = apply<F64, Coarse<Rcp>, 1>;
  t["rsqrt.approx.ftz.f64"] = apply<F64, Coarse<Rsqrt>, 1>;
  t["ex2.f32"] = apply<F32, Ex2, 1>;
  addHalves<Ex2, 1>(t, "ex2");
  t["lg2.f32"] = apply<F32, Lg2, 1>;
  t["sin.f32"] = apply<F32, Sin, 1>;
  t["cos.f32"] = apply<F32, Cos, 1>;
  t["tanh.f32"] = apply<F32, Tanh, 1>;
  addHalves<Tanh, 1>(t, "tanh");
  t["neg.f32"] = negate<uint32_t, 0x80000000u>;
  t["neg.f64"] = negate<uint64_t, 0x8000000000000000ull>;
  t["neg.f16"] = t["neg.bf16"] = negate<uint16_t, 0x8000>;
  t["neg.f16x2"] = t["neg.bf16x2"] = negate<uint32_t, 0x80008000u>;
  t["abs.f32"] = absolute<uint32_t, 0x80000000u>;
  t["abs.f64"] = absolute<uint64_t, 0x8000000000000000ull>;
  t["abs.f16"] = t["abs.bf16"] = absolute<uint16_t, 0x8000>;
  t["abs.f16x2"] = t["abs.bf16x2"] = absolute<uint32_t, 0x80008000u>;
  t["copysign.f32"] = copySign<uint32_t, 0x80000000u>;
  t["copysign.f64"] = copySign<uint64_t, 0x8000000000000000ull>;
}

} // namespace HLO_EMULATOR_LEVEL

} // namespace hlo::emulator
