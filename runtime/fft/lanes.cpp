// Lines of a tensor into lanes and back, and what is done to whole lanes between the stages.

#include "vectors.h"

namespace hlo::runtime::fft {
namespace {

template <int64_t... I> struct Indices {};
template <int64_t count, int64_t... I> struct IndicesUpTo : IndicesUpTo<count - 1, count - 1, I...> {};
template <int64_t... I> struct IndicesUpTo<0, I...> {
  using Type = Indices<I...>;
};
template <int64_t count> using MakeIndices = typename IndicesUpTo<count>::Type;

template <typename V, typename T, int64_t... I> inline void zipAt(V a, V b, V &low, V &high, Indices<I...>) {
  constexpr int64_t size = vectorSize<T>;
  low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * size)...);
  high = __builtin_shufflevector(a, b, (size / 2 + I / 2 + I % 2 * size)...);
}

template <typename V, typename T, int64_t... I> inline void unzipAt(V a, V b, V &even, V &odd, Indices<I...>) {
  even = __builtin_shufflevector(a, b, (2 * I)...);
  odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

// a0 b0 a1 b1 ..., and the inverse.
template <typename T> inline void zip(Vector<T> a, Vector<T> b, Vector<T> &low, Vector<T> &high) {
  zipAt<Vector<T>, T>(a, b, low, high, MakeIndices<vectorSize<T>>{});
}
template <typename T> inline void unzip(Vector<T> a, Vector<T> b, Vector<T> &even, Vector<T> &odd) {
  unzipAt<Vector<T>, T>(a, b, even, odd, MakeIndices<vectorSize<T>>{});
}

// With row and column numbers written as one string of bits, zipping the upper half of the rows with the lower turns
// the string by one bit; log2(size) turns exchange row and column.
template <typename T> inline void transpose(Vector<T> *rows) {
  constexpr int64_t size = vectorSize<T>;
  for (int64_t turn = 1; turn < size; turn *= 2) {
    Vector<T> turned[size];
    for (int64_t i = 0; i < size / 2; ++i)
      zip<T>(rows[i], rows[i + size / 2], turned[2 * i], turned[2 * i + 1]);
    for (int64_t i = 0; i < size; ++i)
      rows[i] = turned[i];
  }
}

// Whether the lanes' pairs follow each other. Lines are in order, so the ends tell.
template <typename T> bool areAdjacent(const Lines<T> &lines, int64_t width) {
  return lines.count == width && lines.lane[width - 1] - lines.lane[0] == 2 * (width - 1);
}

template <typename T> void loadAdjacent(const Lines<const T> &lines, int64_t positions, const Split<T> &to) {
  constexpr int64_t width = groupLanes<T>, size = vectorSize<T>;
  for (int64_t i = 0; i < positions; ++i) {
    const T *from = lines.lane[0] + i * lines.step;
    for (int64_t b = 0; b < width; b += size) {
      Vector<T> re, im;
      unzip<T>(loadAs<Vector<T>>(from + 2 * b), loadAs<Vector<T>>(from + 2 * b + size), re, im);
      storeAs(to.re + i * width + b, re);
      storeAs(to.im + i * width + b, im);
    }
  }
}

template <typename T> void storeAdjacent(const Lines<T> &lines, int64_t positions, const Split<T> &from, T scale) {
  constexpr int64_t width = groupLanes<T>, size = vectorSize<T>;
  for (int64_t i = 0; i < positions; ++i) {
    T *to = lines.lane[0] + i * lines.step;
    for (int64_t b = 0; b < width; b += size) {
      Vector<T> low, high;
      zip<T>(loadAs<Vector<T>>(from.re + i * width + b) * scale, loadAs<Vector<T>>(from.im + i * width + b) * scale,
             low, high);
      storeAs(to + 2 * b, low);
      storeAs(to + 2 * b + size, high);
    }
  }
}

// Squares of contiguous lines, turned; what is left over at the lines' ends is the caller's. `numbers` is 2 for pairs
// and 1 for real lines. The positions done are returned.
template <int64_t numbers, typename T>
int64_t loadSquares(const Lines<const T> &lines, int64_t positions, const Split<T> &to) {
  constexpr int64_t width = groupLanes<T>, size = vectorSize<T>, across = size / numbers;
  const int64_t whole = positions / across * across;
  for (int64_t i = 0; i < whole; i += across)
    for (int64_t b = 0; b < width; b += size) {
      Vector<T> rows[size];
      for (int64_t r = 0; r < size; ++r)
        rows[r] = loadAs<Vector<T>>(lines.lane[b + r] + i * numbers);
      transpose<T>(rows);
      for (int64_t j = 0; j < across; ++j) {
        storeAs(to.re + (i + j) * width + b, rows[numbers * j]);
        storeAs(to.im + (i + j) * width + b, numbers == 2 ? rows[numbers * j + numbers - 1] : Vector<T>{});
      }
    }
  return whole;
}

template <int64_t numbers, typename T>
int64_t storeSquares(const Lines<T> &lines, int64_t positions, const Split<T> &from, T scale) {
  constexpr int64_t width = groupLanes<T>, size = vectorSize<T>, across = size / numbers;
  const int64_t whole = positions / across * across;
  for (int64_t i = 0; i < whole; i += across)
    for (int64_t b = 0; b < lines.count; b += size) {
      Vector<T> rows[size];
      for (int64_t j = 0; j < across; ++j) {
        rows[numbers * j] = loadAs<Vector<T>>(from.re + (i + j) * width + b) * scale;
        if constexpr (numbers == 2)
          rows[2 * j + 1] = loadAs<Vector<T>>(from.im + (i + j) * width + b) * scale;
      }
      transpose<T>(rows);
      const int64_t present = lines.count - b < size ? lines.count - b : size;
      for (int64_t r = 0; r < present; ++r)
        storeAs(lines.lane[b + r] + i * numbers, rows[r]);
    }
  return whole;
}

template <int64_t numbers, typename T, typename C>
void loadEach(const Lines<const T> &lines, int64_t begin, int64_t end, const Split<C> &to) {
  const int64_t width = to.width(), step = lines.step;
  for (int64_t b = 0; b < width; ++b)
    for (int64_t i = begin; i < end; ++i) {
      to.re[i * width + b] = static_cast<C>(lines.lane[b][i * step]);
      to.im[i * width + b] = numbers == 2 ? static_cast<C>(lines.lane[b][i * step + numbers - 1]) : C(0);
    }
}

template <int64_t numbers, typename T, typename C>
void storeEach(const Lines<T> &lines, int64_t begin, int64_t end, const Split<C> &from, C scale) {
  const int64_t width = from.width(), step = lines.step;
  for (int64_t b = 0; b < lines.count; ++b)
    for (int64_t i = begin; i < end; ++i) {
      lines.lane[b][i * step] = static_cast<T>(from.re[i * width + b] * scale);
      if constexpr (numbers == 2)
        lines.lane[b][i * step + 1] = static_cast<T>(from.im[i * width + b] * scale);
    }
}

template <typename A, typename B> constexpr bool isSame = false;
template <typename A> constexpr bool isSame<A, A> = true;

template <int64_t numbers, typename T, typename C>
void loadLines(const Lines<const T> &lines, int64_t positions, const Split<C> &to) {
  int64_t done = 0;
  if constexpr (isSame<T, C>)
    if (to.grouped) {
      if (numbers == 2 && areAdjacent(lines, to.width()))
        return loadAdjacent(lines, positions, to);
      if (lines.step == numbers)
        done = loadSquares<numbers>(lines, positions, to);
    }
  loadEach<numbers>(lines, done, positions, to);
}

template <int64_t numbers, typename T, typename C>
void storeLines(const Lines<T> &lines, int64_t positions, const Split<C> &from, C scale) {
  int64_t done = 0;
  if constexpr (isSame<T, C>)
    if (from.grouped) {
      if (numbers == 2 && areAdjacent(lines, from.width()))
        return storeAdjacent(lines, positions, from, scale);
      if (lines.step == numbers)
        done = storeSquares<numbers>(lines, positions, from, scale);
    }
  storeEach<numbers>(lines, done, positions, from, scale);
}

// Calls f with the numbers at one lane or vector of lanes of each position: f(V{}, offset in the position).
template <typename C, typename F> inline void forLanes(bool grouped, const F &f) {
  if (!grouped)
    return f(C(0), int64_t(0));
  for (int64_t b = 0; b < groupLanes<C>; b += vectorSize<C>)
    f(Vector<C>{}, b);
}

} // namespace

namespace HLO_FFT_LEVEL {

template <typename C>
void Spectra<C>::multiply(const Split<C> &to, const Split<C> &from, const C *re, const C *im, int64_t count) {
  const int64_t width = to.width();
  for (int64_t j = 0; j < count; ++j)
    forLanes<C>(to.grouped, [&](auto kind, int64_t b) {
      using V = decltype(kind);
      const int64_t at = j * width + b;
      const V r = loadAs<V>(from.re + at), i = loadAs<V>(from.im + at);
      storeAs<V>(to.re + at, r * re[j] - i * im[j]);
      storeAs<V>(to.im + at, r * im[j] + i * re[j]);
    });
}

// With Z the transform of the pairs, the even numbers' is (Z[k] + conj Z[half - k]) / 2 and the odd ones'
// (Z[k] - conj Z[half - k]) / 2i; bin half - k has the conjugates of both, and the opposite root.
template <typename C> void Spectra<C>::pairsToBins(const Split<C> &data, int64_t half, const C *roots) {
  const int64_t width = data.width();
  forLanes<C>(data.grouped, [&](auto kind, int64_t b) {
    using V = decltype(kind);
    const V re = loadAs<V>(data.re + b), im = loadAs<V>(data.im + b);
    storeAs<V>(data.re + b, re + im);
    storeAs<V>(data.im + b, V{});
    storeAs<V>(data.re + half * width + b, re - im);
    storeAs<V>(data.im + half * width + b, V{});
  });
  for (int64_t k = 1; k <= half - k; ++k)
    forLanes<C>(data.grouped, [&](auto kind, int64_t b) {
      using V = decltype(kind);
      const int64_t at = k * width + b, mirror = (half - k) * width + b;
      const C c = roots[2 * k], s = roots[2 * k + 1], halved = C(0.5);
      const V re = loadAs<V>(data.re + at), im = loadAs<V>(data.im + at);
      const V mirrorR = loadAs<V>(data.re + mirror), mirrorI = loadAs<V>(data.im + mirror);
      const V evenR = (re + mirrorR) * halved, evenI = (im - mirrorI) * halved;
      const V oddR = (im + mirrorI) * halved, oddI = (mirrorR - re) * halved;
      const V turnedR = oddR * c - oddI * s, turnedI = oddR * s + oddI * c;
      storeAs<V>(data.re + at, evenR + turnedR);
      storeAs<V>(data.im + at, evenI + turnedI);
      storeAs<V>(data.re + mirror, evenR - turnedR);
      storeAs<V>(data.im + mirror, turnedI - evenI);
    });
}

// The imaginary parts of the first bin, and of the middle one, belong to no real line and are ignored.
template <typename C> void Spectra<C>::binsToPairs(const Split<C> &data, int64_t half, const C *roots) {
  const int64_t width = data.width();
  forLanes<C>(data.grouped, [&](auto kind, int64_t b) {
    using V = decltype(kind);
    const V first = loadAs<V>(data.re + b), middle = loadAs<V>(data.re + half * width + b);
    storeAs<V>(data.re + b, first + middle);
    storeAs<V>(data.im + b, first - middle);
  });
  for (int64_t k = 1; k <= half - k; ++k)
    forLanes<C>(data.grouped, [&](auto kind, int64_t b) {
      using V = decltype(kind);
      const int64_t at = k * width + b, mirror = (half - k) * width + b;
      const C c = roots[2 * k], s = -roots[2 * k + 1];
      const V re = loadAs<V>(data.re + at), im = loadAs<V>(data.im + at);
      const V mirrorR = loadAs<V>(data.re + mirror), mirrorI = loadAs<V>(data.im + mirror);
      const V differenceR = re - mirrorR, sumI = im + mirrorI;
      const V turnedR = differenceR * c - sumI * s, turnedI = differenceR * s + sumI * c;
      storeAs<V>(data.re + at, re + mirrorR - turnedI);
      storeAs<V>(data.im + at, im - mirrorI + turnedR);
      storeAs<V>(data.re + mirror, re + mirrorR + turnedI);
      storeAs<V>(data.im + mirror, mirrorI - im + turnedR);
    });
}

template <typename T, typename C>
void Tensors<T, C>::load(const Lines<const T> &lines, int64_t positions, const Split<C> &to) {
  loadLines<2>(lines, positions, to);
}

template <typename T, typename C>
void Tensors<T, C>::store(const Lines<T> &lines, int64_t positions, const Split<C> &from, C scale) {
  storeLines<2>(lines, positions, from, scale);
}

template <typename T, typename C>
void Tensors<T, C>::loadReal(const Lines<const T> &lines, int64_t positions, const Split<C> &to) {
  loadLines<1>(lines, positions, to);
}

template <typename T, typename C>
void Tensors<T, C>::storeReal(const Lines<T> &lines, int64_t positions, const Split<C> &from, C scale) {
  storeLines<1>(lines, positions, from, scale);
}

template struct Spectra<float>;
template struct Spectra<double>;
template struct Tensors<float, float>;
template struct Tensors<float, double>;
template struct Tensors<double, double>;

} // namespace HLO_FFT_LEVEL
} // namespace hlo::runtime::fft
