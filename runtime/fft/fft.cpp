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
  int64_t positions() const { return plan->length() + 1; } // half a real line has a bin more
  int64_t units() const { return (lines() + linesPerUnit() - 1) / linesPerUnit(); }
};

/// One unit's lines, and the memory they are transformed in.
template <typename T, typename C> struct Unit {
  Lines<const T> input;
  Lines<T> output;
  Split<C> data;
  C *scratch;

  Split<C> exchanged() const { return {data.im, data.re, data.grouped}; }
};

// numbers: those from one line of a real kind to the next.
template <typename Number>
Lines<Number> linesAt(Number *tensor, int64_t first, int64_t count, int64_t width, int64_t numbers, int64_t step) {
  Lines<Number> lines{{}, count, step};
  for (int64_t b = 0; b < width; ++b)
    lines.lane[b] = tensor + (first + (b < count ? b : 0)) * numbers;
  return lines;
}

template <typename T, typename C> void complexLines(const Pass<T, C> &p, Unit<T, C> &u, int64_t first, int64_t count) {
  u.input = {{}, count, 2 * p.inner};
  u.output = {{}, count, 2 * p.inner};
  for (int64_t b = 0; b < p.linesPerUnit(); ++b) {
    const int64_t line = first + (b < count ? b : 0);
    const int64_t at = 2 * (line / p.inner * p.n * p.inner + line % p.inner);
    u.input.lane[b] = p.input + at;
    u.output.lane[b] = p.output + at;
  }
  transfer<T, C>().load(u.input, p.n, u.data);
  p.plan->run(p.kind == Kind::Forward ? u.data : u.exchanged(), u.scratch);
  transfer<T, C>().store(u.output, p.n, u.data, p.scale);
}

// An even real line is a complex one of half the length; the halves are told apart by symmetry.
template <typename T, typename C> void realForward(const Pass<T, C> &p, Unit<T, C> &u, int64_t first, int64_t count) {
  const int64_t bins = p.n / 2 + 1, width = p.linesPerUnit();
  u.input = linesAt(p.input, first, count, width, p.n, p.roots ? 2 : 1);
  u.output = linesAt(p.output, first, count, width, 2 * bins, 2);
  if (p.roots)
    transfer<T, C>().load(u.input, p.n / 2, u.data);
  else
    transfer<T, C>().loadReal(u.input, p.n, u.data);
  p.plan->run(u.data, u.scratch);
  if (p.roots)
    arithmetic<C>().pairsToBins(u.data, p.n / 2, p.roots->data());
  transfer<T, C>().store(u.output, bins, u.data, p.scale);
}

// Bin n - k of a real line of odd length is the conjugate of bin k.
template <typename C> void mirrorBins(const Split<C> &data, int64_t n) {
  const int64_t width = data.width();
  std::fill_n(data.im, width, C(0));
  for (int64_t k = 1; k <= n / 2; ++k)
    for (int64_t b = 0; b < width; ++b) {
      data.re[(n - k) * width + b] = data.re[k * width + b];
      data.im[(n - k) * width + b] = -data.im[k * width + b];
    }
}

template <typename T, typename C> void realBackward(const Pass<T, C> &p, Unit<T, C> &u, int64_t first, int64_t count) {
  const int64_t bins = p.n / 2 + 1, width = p.linesPerUnit();
  u.input = linesAt(p.input, first, count, width, 2 * bins, 2);
  u.output = linesAt(p.output, first, count, width, p.n, p.roots ? 2 : 1);
  transfer<T, C>().load(u.input, bins, u.data);
  if (p.roots)
    arithmetic<C>().binsToPairs(u.data, p.n / 2, p.roots->data());
  else
    mirrorBins(u.data, p.n);
  p.plan->run(u.exchanged(), u.scratch);
  if (p.roots)
    transfer<T, C>().store(u.output, p.n / 2, u.data, p.scale);
  else
    transfer<T, C>().storeReal(u.output, p.n, u.data, p.scale);
}

template <typename T, typename C> void runUnits(void **args, int64_t begin, int64_t end) {
  const auto &p = *static_cast<const Pass<T, C> *>(args[0]);
  const auto *runtime = static_cast<const HloRuntime *>(args[1]);
  try {
    Scratch scratch;
    const int64_t width = p.linesPerUnit(), size = p.positions() * width;
    C *memory = scratch.get<C>(2 * size + p.plan->scratchSize(width));
    Unit<T, C> unit{{}, {}, {memory, memory + size, p.grouped}, memory + 2 * size};
    for (int64_t at = begin; at < end; ++at) {
      const int64_t first = at * width, count = std::min(width, p.lines() - first);
      if (p.kind == Kind::RealForward)
        realForward(p, unit, first, count);
      else if (p.kind == Kind::RealBackward)
        realBackward(p, unit, first, count);
      else
        complexLines(p, unit, first, count);
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
  const int64_t groupBytes = (2 * p.positions() * width + p.plan->scratchSize(width)) * static_cast<int64_t>(sizeof(C));
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
