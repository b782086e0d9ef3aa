// Fourier transforms of tensors: lines are loaded into split, interleaved form, transformed, and stored; see
// kernel_abi.h.

#include "fft.h"
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

/// Rows of complex numbers, of which the first `width` count: a number's row is `pitch` numbers behind the one before.
template <typename T> struct Rows {
  T *data;
  int64_t width, pitch;

  T *at(int64_t row, int64_t column) const { return data + 2 * (row * pitch + column); }
};

/// A transform of every line of a tensor [outer][n][inner] (inner is 1 for the real kinds, whose lines differ in length
/// between input and output). C is the type computed in.
template <typename T, typename C> struct Pass {
  Kind kind;
  Rows<const T> input;
  Rows<T> output;
  int64_t outer, n, inner; // inner a multiple of the rows' width, or 1
  C scale;
  const T *ends = nullptr; // where RealBackward finds the last bins of lines of even length; null: behind the others
  std::shared_ptr<const Plan<C>> plan;
  std::shared_ptr<const std::vector<C>> roots; // for real lines of even length
  bool grouped;

  bool isReal() const { return kind == Kind::RealForward || kind == Kind::RealBackward; }
  int64_t lines() const { return outer * inner; }
  int64_t linesPerUnit() const { return grouped ? groupLanes<C> : 1; }
  int64_t positions() const { return plan->length() + 1; } // half a real line has a bin more
  int64_t units() const { return (lines() + linesPerUnit() - 1) / linesPerUnit(); }
  int64_t unitBytes(int64_t width) const {
    return (2 * positions() * width + plan->scratchSize(width)) * static_cast<int64_t>(sizeof(C));
  }
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
  const int64_t width = p.input.width, rows = p.inner / width; // of a position of a line
  u.input = {{}, count, 2 * rows * p.input.pitch};
  u.output = {{}, count, 2 * rows * p.output.pitch};
  for (int64_t b = 0; b < p.linesPerUnit(); ++b) {
    const int64_t line = first + (b < count ? b : 0);
    const int64_t row = line / p.inner * p.n * rows + line % p.inner / width, column = line % width;
    u.input.lane[b] = p.input.at(row, column);
    u.output.lane[b] = p.output.at(row, column);
  }
  transfer<T, C>().load(u.input, p.n, u.data);
  p.plan->run(p.kind == Kind::Forward ? u.data : u.exchanged(), u.scratch);
  transfer<T, C>().store(u.output, p.n, u.data, p.scale);
}

// An even real line is a complex one of half the length; the halves are told apart by symmetry.
template <typename T, typename C> void realForward(const Pass<T, C> &p, Unit<T, C> &u, int64_t first, int64_t count) {
  const int64_t bins = p.n / 2 + 1, width = p.linesPerUnit();
  u.input = linesAt(p.input.data, first, count, width, p.n, p.roots ? 2 : 1);
  u.output = linesAt(p.output.data, first, count, width, 2 * bins, 2);
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
  const int64_t bins = p.n / 2 + 1, near = p.ends ? bins - 1 : bins, width = p.linesPerUnit();
  u.input = linesAt(p.input.data, first, count, width, 2 * p.input.pitch, 2);
  u.output = linesAt(p.output.data, first, count, width, p.n, p.roots ? 2 : 1);
  transfer<T, C>().load(u.input, near, u.data);
  if (p.ends) {
    const Split<C> last{u.data.re + near * width, u.data.im + near * width, u.data.grouped};
    transfer<T, C>().load(linesAt(p.ends, first, count, width, 2, 2), 1, last);
  }
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
  const Slots::Lease lease(*static_cast<Slots *>(args[1]));
  const int64_t width = p.linesPerUnit(), size = p.positions() * width;
  C *memory = reinterpret_cast<C *>(lease.data());
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
}

template <typename T, typename C> void runPass(int threads, Carver &carver, Pass<T, C> p) {
  const bool halved = p.isReal() && p.n % 2 == 0;
  p.plan = planFor<C>(halved ? p.n / 2 : p.n);
  if (halved)
    p.roots = halfRootsFor<C>(p.n);
  // Whole groups fill the vector registers, as long as they stay in the cache.
  constexpr int64_t cacheBytes = 1 << 21;
  constexpr int64_t width = groupLanes<C>;
  p.grouped = p.lines() * 2 >= width && p.unitBytes(width) <= cacheBytes;
  const int64_t numbersPerPiece = 1 << 14;
  const int64_t grain = std::max<int64_t>(1, numbersPerPiece / (p.n * p.linesPerUnit()));
  const int64_t mark = carver.mark();
  Slots slots(carver, p.unitBytes(p.linesPerUnit()), std::min<int64_t>(threads, (p.units() + grain - 1) / grain));
  void *args[] = {&p, &slots};
  if (!carver.isCounting())
    parallelFor(slots.count, runUnits<T, C>, args, p.units(), grain);
  carver.releaseTo(mark);
}

/// A whole problem: rank lengths, the tensors they are of, and where its working memory comes from.
template <typename T> struct Problem {
  int threads;
  Carver &carver;
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
  void pass(Kind kind, Rows<const T> input, Rows<T> output, int64_t outer, int64_t n, int64_t inner, double scale,
            const T *ends = nullptr) const {
    const bool halved = (kind == Kind::RealForward || kind == Kind::RealBackward) && n % 2 == 0;
    if (sizeof(T) == 4 && !hasSmallFactors(halved ? n / 2 : n))
      runPass<T, double>(threads, carver, {kind, input, output, outer, n, inner, scale, ends, nullptr, nullptr, false});
    else
      runPass<T, T>(threads, carver,
                    {kind, input, output, outer, n, inner, static_cast<T>(scale), ends, nullptr, nullptr, false});
  }

  /// All dimensions but the last, of rows of complex data along that.
  void outerPasses(Kind kind, Rows<const T> input, Rows<T> output, double scale) const {
    int64_t outer = batch;
    for (int d = 0; d + 1 < rank; outer *= lengths[d++]) {
      int64_t inner = input.width;
      for (int e = d + 1; e + 1 < rank; ++e)
        inner *= lengths[e];
      const Rows<const T> from = d == 0 ? input : Rows<const T>{output.data, output.width, output.pitch};
      pass(kind, from, output, outer, lengths[d], inner, d + 2 == rank ? scale : 1);
    }
  }

  void run(int kind, const T *input, T *output) const {
    const int64_t last = lengths[rank - 1], lines = batch * points() / last, bins = last / 2 + 1;
    const double inverse = 1.0 / static_cast<double>(points());
    const bool isLastPass = rank == 1;
    if (kind == 0 || kind == 1) {
      const Kind direction = kind == 0 ? Kind::Forward : Kind::Backward;
      const double scale = kind == 0 ? 1 : inverse;
      pass(direction, {input, 1, 1}, {output, 1, 1}, lines, last, 1, isLastPass ? scale : 1);
      outerPasses(direction, {output, last, last}, {output, last, last}, scale);
    } else if (kind == 2) {
      pass(Kind::RealForward, {input, 1, last}, {output, 1, bins}, lines, last, 1, 1);
      outerPasses(Kind::Forward, {output, bins, bins}, {output, bins, bins}, 1);
    } else if (isLastPass) {
      pass(Kind::RealBackward, {input, 1, bins}, {output, 1, last}, lines, last, 1, inverse);
    } else {
      realBackwardOfMany(input, output, inverse);
    }
  }

  /// The outer dimensions' passes put their results where those of the last one go. Of lines of even length that has
  /// room for all bins but the last; of odd length, for none.
  void realBackwardOfMany(const T *input, T *output, double scale) const {
    const int64_t last = lengths[rank - 1], lines = batch * points() / last, bins = last / 2 + 1;
    const bool even = last % 2 == 0;
    const int64_t near = even ? bins - 1 : bins;
    const Rows<T> spectrum{even ? output : carver.take<T>(2 * lines * bins), near, near};
    outerPasses(Kind::Backward, {input, near, bins}, spectrum, 1);
    T *ends = even ? carver.take<T>(2 * lines) : nullptr;
    if (even)
      outerPasses(Kind::Backward, {input + 2 * near, 1, bins}, {ends, 1, 1}, 1);
    pass(Kind::RealBackward, {spectrum.data, 1, near}, {output, 1, last}, lines, last, 1, scale, ends);
  }
};

template <typename T>
void run(int threads, Carver &carver, const void *input, void *output, const int64_t *parameters) {
  Problem<T> problem{threads, carver, parameters[2], static_cast<int>(parameters[3]), {}};
  std::copy_n(parameters + 4, problem.rank, problem.lengths);
  problem.run(static_cast<int>(parameters[0]), static_cast<const T *>(input), static_cast<T *>(output));
}

void runEither(int threads, Carver &carver, const void *input, void *output, const int64_t *parameters) {
  (parameters[1] == 4 ? run<float> : run<double>)(threads, carver, input, output, parameters);
}

bool isValid(const int64_t *parameters) {
  if (parameters[0] < 0 || parameters[0] > 3 || (parameters[1] != 4 && parameters[1] != 8) || parameters[2] < 0 ||
      parameters[3] < 1 || parameters[3] > 3)
    return false;
  return std::all_of(parameters + 4, parameters + 4 + parameters[3], [](int64_t length) { return length > 0; });
}

} // namespace

int64_t scratchBytes(int threads, const int64_t *parameters) {
  if (!isValid(parameters) || parameters[2] == 0)
    return 0;
  Carver counting;
  runEither(threads, counting, nullptr, nullptr, parameters);
  return counting.bytes();
}

} // namespace hlo::runtime::fft

int32_t hlo_rt_fft(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                   int64_t scratchBytes) {
  using namespace hlo::runtime;
  if (!fft::isValid(parameters))
    return fail(runtime, HLO_ERROR,
                "fft: kind, precision, batch, rank (1 to 3) or a length (at least 1) is out of range");
  if (parameters[2] == 0)
    return HLO_OK;
  try {
    const Workspace workspace(scratch, scratchBytes, fft::scratchBytes(runtime->threads, parameters));
    Carver carver(workspace.data());
    fft::runEither(runtime->threads, carver, buffers[0], buffers[1], parameters);
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "fft: out of memory");
  }
  return HLO_OK;
}
