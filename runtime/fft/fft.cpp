// Fourier transforms of tensors: lines are loaded into split, interleaved form, transformed, and stored; see
// kernel_abi.h.

#include "plan.h"

#include "../kernel_abi.h"
#include "../runtime.h"
#include "../scratch.h"
#include "../thread_pool.h"

#include <algorithm>
#include <new>

namespace hlo::runtime::fft {
namespace {

enum class Kind { Forward, Backward, RealForward, RealBackward };

/// A transform of every line of a tensor [outer][n][inner] (inner is 1 for the real kinds, whose lines differ in length
/// between input and output). C is the type computed in.
template <typename T, typename C> struct Pass {
  Kind kind;
  const T *input;
  T *output;
  int64_t outer, n, inner;
  C scale;
  std::shared_ptr<const Plan<C>> plan;
  std::shared_ptr<const std::vector<C>> roots; // for real lines of even length
  bool grouped;

  bool isReal() const { return kind == Kind::RealForward || kind == Kind::RealBackward; }
  int64_t lines() const { return outer * inner; }
  int64_t linesPerUnit() const { return grouped ? groupLanes<C> : 1; }
  int64_t units() const { return (lines() + linesPerUnit() - 1) / linesPerUnit(); }
};

/// Where the lanes of one unit lie and the memory they are transformed in.
template <typename C> struct Lanes {
  int64_t first;
  int64_t count; // with a line behind them
  int64_t width; // 1 or groupLanes<C>
  C *re, *im, *scratch;
};

// Calls f(position, lane) so that the tensor is walked along its contiguous dimension.
template <typename F> void forEach(int64_t length, int64_t lanes, bool lanesAreNeighbours, const F &f) {
  if (lanesAreNeighbours) {
    for (int64_t i = 0; i < length; ++i)
      for (int64_t b = 0; b < lanes; ++b)
        f(i, b);
    return;
  }
  for (int64_t b = 0; b < lanes; ++b)
    for (int64_t i = 0; i < length; ++i)
      f(i, b);
}

template <typename T, typename C> void complexLines(const Pass<T, C> &p, const Lanes<C> &l) {
  const bool neighbours = p.inner > 1;
  const auto at = [&](int64_t i, int64_t b) {
    const int64_t line = l.first + b;
    return 2 * ((line / p.inner * p.n + i) * p.inner + line % p.inner);
  };
  forEach(p.n, l.count, neighbours, [&](int64_t i, int64_t b) {
    const T *element = p.input + at(i, b);
    l.re[i * l.width + b] = static_cast<C>(element[0]);
    l.im[i * l.width + b] = static_cast<C>(element[1]);
  });
  if (p.kind == Kind::Forward)
    p.plan->run(l.re, l.im, l.width > 1, l.scratch);
  else
    p.plan->run(l.im, l.re, l.width > 1, l.scratch);
  forEach(p.n, l.count, neighbours, [&](int64_t i, int64_t b) {
    T *element = p.output + at(i, b);
    element[0] = static_cast<T>(l.re[i * l.width + b] * p.scale);
    element[1] = static_cast<T>(l.im[i * l.width + b] * p.scale);
  });
}

// An even real line is a complex one of half the length; the halves are told apart by symmetry.
template <typename T, typename C> void evenRealForward(const Pass<T, C> &p, const Lanes<C> &l) {
  const int64_t half = p.n / 2, bins = half + 1;
  forEach(half, l.count, false, [&](int64_t j, int64_t b) {
    const T *pair = p.input + (l.first + b) * p.n + 2 * j;
    l.re[j * l.width + b] = static_cast<C>(pair[0]);
    l.im[j * l.width + b] = static_cast<C>(pair[1]);
  });
  p.plan->run(l.re, l.im, l.width > 1, l.scratch);
  const C *roots = p.roots->data();
  forEach(bins, l.count, false, [&](int64_t k, int64_t b) {
    const int64_t at = k % half * l.width + b, mirror = (half - k) % half * l.width + b;
    const C evenR = (l.re[at] + l.re[mirror]) / 2, evenI = (l.im[at] - l.im[mirror]) / 2;
    const C oddR = (l.im[at] + l.im[mirror]) / 2, oddI = (l.re[mirror] - l.re[at]) / 2;
    const C c = roots[2 * k], s = roots[2 * k + 1];
    T *element = p.output + 2 * ((l.first + b) * bins + k);
    element[0] = static_cast<T>((evenR + oddR * c - oddI * s) * p.scale);
    element[1] = static_cast<T>((evenI + oddR * s + oddI * c) * p.scale);
  });
}

template <typename T, typename C> void oddRealForward(const Pass<T, C> &p, const Lanes<C> &l) {
  const int64_t bins = p.n / 2 + 1;
  forEach(p.n, l.count, false, [&](int64_t j, int64_t b) {
    l.re[j * l.width + b] = static_cast<C>(p.input[(l.first + b) * p.n + j]);
    l.im[j * l.width + b] = 0;
  });
  p.plan->run(l.re, l.im, l.width > 1, l.scratch);
  forEach(bins, l.count, false, [&](int64_t k, int64_t b) {
    T *element = p.output + 2 * ((l.first + b) * bins + k);
    element[0] = static_cast<T>(l.re[k * l.width + b] * p.scale);
    element[1] = static_cast<T>(l.im[k * l.width + b] * p.scale);
  });
}

// The imaginary parts of the first bin, and of the middle one, belong to no real line and are ignored.
template <typename T, typename C> void evenRealBackward(const Pass<T, C> &p, const Lanes<C> &l) {
  const int64_t half = p.n / 2, bins = half + 1;
  const C *roots = p.roots->data();
  forEach(half, l.count, false, [&](int64_t k, int64_t b) {
    const T *line = p.input + 2 * (l.first + b) * bins;
    const C re = static_cast<C>(line[2 * k]), im = k == 0 ? C(0) : static_cast<C>(line[2 * k + 1]);
    const C mirrorR = static_cast<C>(line[2 * (half - k)]);
    const C mirrorI = k == 0 ? C(0) : -static_cast<C>(line[2 * (half - k) + 1]);
    const C c = roots[2 * k], s = -roots[2 * k + 1];
    const C differenceR = re - mirrorR, differenceI = im - mirrorI;
    l.re[k * l.width + b] = re + mirrorR - (differenceR * s + differenceI * c);
    l.im[k * l.width + b] = im + mirrorI + (differenceR * c - differenceI * s);
  });
  p.plan->run(l.im, l.re, l.width > 1, l.scratch);
  forEach(half, l.count, false, [&](int64_t j, int64_t b) {
    T *pair = p.output + (l.first + b) * p.n + 2 * j;
    pair[0] = static_cast<T>(l.re[j * l.width + b] * p.scale);
    pair[1] = static_cast<T>(l.im[j * l.width + b] * p.scale);
  });
}

template <typename T, typename C> void oddRealBackward(const Pass<T, C> &p, const Lanes<C> &l) {
  const int64_t bins = p.n / 2 + 1;
  forEach(bins, l.count, false, [&](int64_t k, int64_t b) {
    const T *element = p.input + 2 * ((l.first + b) * bins + k);
    const C re = static_cast<C>(element[0]), im = k == 0 ? C(0) : static_cast<C>(element[1]);
    const int64_t mirror = (p.n - k) % p.n;
    l.re[mirror * l.width + b] = re;
    l.im[mirror * l.width + b] = -im;
    l.re[k * l.width + b] = re;
    l.im[k * l.width + b] = im;
  });
  p.plan->run(l.im, l.re, l.width > 1, l.scratch);
  forEach(p.n, l.count, false, [&](int64_t j, int64_t b) {
    p.output[(l.first + b) * p.n + j] = static_cast<T>(l.re[j * l.width + b] * p.scale);
  });
}

template <typename T, typename C> void transform(const Pass<T, C> &p, const Lanes<C> &lanes) {
  switch (p.kind) {
  case Kind::Forward:
  case Kind::Backward:
    return complexLines(p, lanes);
  case Kind::RealForward:
    return p.n % 2 == 0 ? evenRealForward(p, lanes) : oddRealForward(p, lanes);
  case Kind::RealBackward:
    return p.n % 2 == 0 ? evenRealBackward(p, lanes) : oddRealBackward(p, lanes);
  }
}

template <typename T, typename C> void runUnits(void **args, int64_t begin, int64_t end) {
  const auto &p = *static_cast<const Pass<T, C> *>(args[0]);
  const auto *runtime = static_cast<const HloRuntime *>(args[1]);
  try {
    Scratch scratch;
    const int64_t width = p.linesPerUnit(), length = p.plan->length();
    C *memory = scratch.get<C>(2 * length * width + p.plan->scratchSize(width));
    Lanes<C> lanes{0, 0, width, memory, memory + length * width, memory + 2 * length * width};
    for (int64_t unit = begin; unit < end; ++unit) {
      lanes.first = unit * width;
      lanes.count = std::min(width, p.lines() - lanes.first);
      if (lanes.count < width) // lanes without a line compute on zeros
        std::fill(lanes.re, lanes.re + 2 * length * width, C(0));
      transform(p, lanes);
    }
  } catch (const std::bad_alloc &) {
    hlo_rt_set_error(runtime, "fft: out of memory");
  }
}

template <typename T, typename C> void runPass(const HloRuntime *runtime, Pass<T, C> p) {
  const bool halved = p.isReal() && p.n % 2 == 0;
  p.plan = planFor<C>(halved ? p.n / 2 : p.n);
  if (halved)
    p.roots = halfRootsFor<C>(p.n);
  // Whole groups fill the vector registers, as long as they stay in the cache.
  constexpr int64_t cacheBytes = 1 << 21;
  constexpr int64_t width = groupLanes<C>;
  const int64_t groupBytes =
      (2 * p.plan->length() * width + p.plan->scratchSize(width)) * static_cast<int64_t>(sizeof(C));
  p.grouped = p.lines() * 2 >= width && groupBytes <= cacheBytes;
  const int64_t numbersPerPiece = 1 << 14;
  const int64_t grain = std::max<int64_t>(1, numbersPerPiece / (p.n * p.linesPerUnit()));
  void *args[] = {&p, const_cast<HloRuntime *>(runtime)};
  parallelFor(runtime->threads, runUnits<T, C>, args, p.units(), grain);
}

/// A whole problem: rank lengths, and the tensors they are of.
template <typename T> struct Problem {
  const HloRuntime *runtime;
  int64_t batch;
  int rank;
  int64_t lengths[3];

  int64_t points() const {
    int64_t product = 1;
    for (int d = 0; d < rank; ++d)
      product *= lengths[d];
    return product;
  }

  // Large primes in single precision go through double, for the detour triples the rounding errors.
  void pass(Kind kind, const T *input, T *output, int64_t outer, int64_t n, int64_t inner, double scale) const {
    const bool halved = (kind == Kind::RealForward || kind == Kind::RealBackward) && n % 2 == 0;
    if (sizeof(T) == 4 && !hasSmallFactors(halved ? n / 2 : n))
      runPass<T, double>(runtime, {kind, input, output, outer, n, inner, scale, nullptr, nullptr, false});
    else
      runPass<T, T>(runtime, {kind, input, output, outer, n, inner, static_cast<T>(scale), nullptr, nullptr, false});
  }

  // All dimensions but the last, of complex data whose last dimension has `last` elements.
  void outerPasses(Kind kind, const T *input, T *output, int64_t last, double scale) const {
    int64_t outer = batch;
    for (int d = 0; d + 1 < rank; outer *= lengths[d++]) {
      int64_t inner = last;
      for (int e = d + 1; e + 1 < rank; ++e)
        inner *= lengths[e];
      pass(kind, d == 0 ? input : output, output, outer, lengths[d], inner, d + 2 == rank ? scale : 1);
    }
  }

  void run(int kind, const T *input, T *output) const {
    const int64_t last = lengths[rank - 1], lines = batch * points() / last, bins = last / 2 + 1;
    const double inverse = 1.0 / static_cast<double>(points());
    const bool isLastPass = rank == 1;
    if (kind == 0 || kind == 1) {
      const Kind direction = kind == 0 ? Kind::Forward : Kind::Backward;
      const double scale = kind == 0 ? 1 : inverse;
      pass(direction, input, output, lines, last, 1, isLastPass ? scale : 1);
      outerPasses(direction, output, output, last, scale);
    } else if (kind == 2) {
      pass(Kind::RealForward, input, output, lines, last, 1, 1);
      outerPasses(Kind::Forward, output, output, bins, 1);
    } else {
      Scratch scratch;
      const T *spectrum = input;
      if (!isLastPass) {
        T *intermediate = scratch.get<T>(2 * lines * bins);
        outerPasses(Kind::Backward, input, intermediate, bins, 1);
        spectrum = intermediate;
      }
      pass(Kind::RealBackward, spectrum, output, lines, last, 1, inverse);
    }
  }
};

template <typename T> void run(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters) {
  Problem<T> problem{runtime, parameters[2], static_cast<int>(parameters[3]), {}};
  std::copy_n(parameters + 4, problem.rank, problem.lengths);
  problem.run(static_cast<int>(parameters[0]), static_cast<const T *>(buffers[0]), static_cast<T *>(buffers[1]));
}

bool isValid(const int64_t *parameters) {
  if (parameters[0] < 0 || parameters[0] > 3 || (parameters[1] != 4 && parameters[1] != 8) || parameters[2] < 0 ||
      parameters[3] < 1 || parameters[3] > 3)
    return false;
  return std::all_of(parameters + 4, parameters + 4 + parameters[3], [](int64_t length) { return length > 0; });
}

} // namespace
} // namespace hlo::runtime::fft

int32_t hlo_rt_fft(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters) {
  using namespace hlo::runtime;
  if (!fft::isValid(parameters))
    return fail(runtime, HLO_ERROR,
                "fft: kind, precision, batch, rank (1 to 3) or a length (at least 1) is out of range");
  if (parameters[2] == 0)
    return HLO_OK;
  try {
    if (parameters[1] == 4)
      fft::run<float>(runtime, buffers, parameters);
    else
      fft::run<double>(runtime, buffers, parameters);
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "fft: out of memory");
  }
  return runtime->failed ? HLO_ERROR_OUT_OF_MEMORY : HLO_OK;
}
