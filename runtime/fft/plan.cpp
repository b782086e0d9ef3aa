#include "plan.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace hlo::runtime::fft {
namespace {

constexpr int radices[] = {4, 2, 3, 5, 7, 11, 13};

template <typename T> StageFn<T> chooseStage() {
  constexpr bool isFloat = sizeof(T) == 4;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    if constexpr (isFloat)
      return avx512::runStageF32;
    else
      return avx512::runStageF64;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    if constexpr (isFloat)
      return avx2::runStageF32;
    else
      return avx2::runStageF64;
  }
#endif
  if constexpr (isFloat)
    return baseline::runStageF32;
  else
    return baseline::runStageF64;
}

template <typename T> StageFn<T> stageFunction() {
  static const StageFn<T> function = chooseStage<T>();
  return function;
}

} // namespace

template <typename T> void unitRoot(int64_t k, int64_t n, T &re, T &im) {
  // Reduce to the first octant in integers, where sine and cosine are accurate and symmetric.
  k %= n;
  const bool mirrored = 2 * k > n;
  if (mirrored)
    k = n - k;
  const bool past = 4 * k > n; // beyond a quarter turn
  const int64_t numerator = past ? n - 2 * k : 2 * k;
  const bool steep = 4 * numerator > n; // beyond an eighth
  // angle = pi * numerator / n, or what is missing to a quarter turn
  const long double pi = 3.14159265358979323846264338327950288L;
  const long double angle = steep ? pi * static_cast<long double>(n - 2 * numerator) / static_cast<long double>(2 * n)
                                  : pi * static_cast<long double>(numerator) / static_cast<long double>(n);
  long double c = std::cos(angle), s = std::sin(angle);
  if (steep)
    std::swap(c, s);
  re = static_cast<T>(past ? -c : c);
  im = static_cast<T>(mirrored ? s : -s);
}

bool hasSmallFactors(int64_t n) {
  for (int radix : radices)
    while (n % radix == 0)
      n /= radix;
  return n == 1;
}

template <typename T> Plan<T>::Plan(int64_t n) : n(n) {
  if (!hasSmallFactors(n)) {
    prepareBluestein();
    return;
  }
  int64_t rest = n, done = 1;
  for (int radix : radices)
    for (; rest % radix == 0; rest /= radix) {
      addStage(radix, done);
      done *= radix;
    }
}

template <typename T> void Plan<T>::addStage(int radix, int64_t done) {
  const int64_t count = (radix - 1) * done;
  std::unique_ptr<T[]> numbers(new T[static_cast<size_t>(2 * count + 2 * radix)]);
  T *re = numbers.get(), *im = re + count, *cosine = im + count, *sine = cosine + radix;
  for (int64_t p = 1; p < radix; ++p)
    for (int64_t k = 0; k < done; ++k)
      unitRoot(p * k, done * radix, re[(p - 1) * done + k], im[(p - 1) * done + k]);
  for (int p = 0; p < radix; ++p) {
    unitRoot(p, radix, cosine[p], sine[p]);
    sine[p] = -sine[p];
  }
  stages.push_back({radix, n, done, re, im, cosine, sine});
  constants.push_back(std::move(numbers));
}

// Bluestein (1970): j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution with a chirp, which a
// power of two does.
template <typename T> void Plan<T>::prepareBluestein() {
  int64_t size = 1;
  while (size < 2 * n - 1)
    size *= 2;
  padded = planFor<T>(size);
  const auto count = static_cast<size_t>(n);
  chirpRe.resize(count);
  chirpIm.resize(count);
  filterRe.resize(static_cast<size_t>(size));
  filterIm.resize(static_cast<size_t>(size));
  int64_t square = 0; // j^2 mod 2 n
  for (int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<size_t>(j), back = static_cast<size_t>((size - j) % size);
    unitRoot(square, 2 * n, chirpRe[at], chirpIm[at]);
    filterRe[at] = filterRe[back] = chirpRe[at] / static_cast<T>(size);
    filterIm[at] = filterIm[back] = -chirpIm[at] / static_cast<T>(size);
    square = (square + 2 * j + 1) % (2 * n);
  }
  std::vector<T> scratch(static_cast<size_t>(padded->scratchSize(1)));
  padded->run(filterRe.data(), filterIm.data(), false, scratch.data());
}

template <typename T> int64_t Plan<T>::scratchSize(int64_t lanes) const {
  return padded ? 2 * padded->length() * lanes + padded->scratchSize(lanes) : 2 * n * lanes;
}

template <typename T> void Plan<T>::run(T *re, T *im, bool grouped, T *scratch) const {
  if (padded)
    return runBluestein(re, im, grouped, scratch);
  const int64_t total = n * (grouped ? groupLanes<T> : 1);
  T *fromRe = re, *fromIm = im, *toRe = scratch, *toIm = scratch + total;
  for (const Stage<T> &stage : stages) {
    stageFunction<T>()(stage, grouped, fromRe, fromIm, toRe, toIm);
    std::swap(fromRe, toRe);
    std::swap(fromIm, toIm);
  }
  if (fromRe == re)
    return;
  std::memcpy(re, fromRe, static_cast<size_t>(total) * sizeof(T));
  std::memcpy(im, fromIm, static_cast<size_t>(total) * sizeof(T));
}

template <typename T> void Plan<T>::runBluestein(T *re, T *im, bool grouped, T *scratch) const {
  const int64_t lanes = grouped ? groupLanes<T> : 1;
  const int64_t size = padded->length();
  T *workRe = scratch, *workIm = scratch + size * lanes, *rest = workIm + size * lanes;
  const auto multiply = [lanes](T *toRe, T *toIm, const T *fromRe, const T *fromIm, T c, T s) {
    for (int64_t b = 0; b < lanes; ++b) {
      const T r = fromRe[b], i = fromIm[b];
      toRe[b] = r * c - i * s;
      toIm[b] = r * s + i * c;
    }
  };
  for (int64_t j = 0; j < n; ++j)
    multiply(workRe + j * lanes, workIm + j * lanes, re + j * lanes, im + j * lanes, chirpRe[static_cast<size_t>(j)],
             chirpIm[static_cast<size_t>(j)]);
  std::memset(workRe + n * lanes, 0, static_cast<size_t>((size - n) * lanes) * sizeof(T));
  std::memset(workIm + n * lanes, 0, static_cast<size_t>((size - n) * lanes) * sizeof(T));
  padded->run(workRe, workIm, grouped, rest);
  for (int64_t j = 0; j < size; ++j)
    multiply(workRe + j * lanes, workIm + j * lanes, workRe + j * lanes, workIm + j * lanes,
             filterRe[static_cast<size_t>(j)], filterIm[static_cast<size_t>(j)]);
  padded->run(workIm, workRe, grouped, rest); // exchanged: backward
  for (int64_t j = 0; j < n; ++j)
    multiply(re + j * lanes, im + j * lanes, workRe + j * lanes, workIm + j * lanes, chirpRe[static_cast<size_t>(j)],
             chirpIm[static_cast<size_t>(j)]);
}

namespace {

// Values by length; when full it starts over, as whoever uses a value keeps it alive.
template <typename Value> class Cache {
public:
  template <typename Make> std::shared_ptr<const Value> get(int64_t n, const Make &make) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      const auto found = values.find(n);
      if (found != values.end())
        return found->second;
    }
    std::shared_ptr<const Value> made = make(n); // may ask for another length
    std::lock_guard<std::mutex> lock(mutex);
    if (values.size() >= limit)
      values.clear();
    return values.emplace(n, std::move(made)).first->second;
  }

private:
  static constexpr size_t limit = 64;
  std::mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<const Value>> values;
};

} // namespace

template <typename T> std::shared_ptr<const Plan<T>> planFor(int64_t n) {
  static auto *cache = new Cache<Plan<T>>;
  return cache->get(n, [](int64_t length) { return std::make_shared<const Plan<T>>(length); });
}

template <typename T> std::shared_ptr<const std::vector<T>> halfRootsFor(int64_t n) {
  static auto *cache = new Cache<std::vector<T>>;
  return cache->get(n, [](int64_t length) {
    std::vector<T> roots(static_cast<size_t>(2 * (length / 2 + 1)));
    for (int64_t k = 0; k <= length / 2; ++k)
      unitRoot(k, length, roots[static_cast<size_t>(2 * k)], roots[static_cast<size_t>(2 * k + 1)]);
    return std::make_shared<const std::vector<T>>(std::move(roots));
  });
}

template class Plan<float>;
template class Plan<double>;
template std::shared_ptr<const Plan<float>> planFor<float>(int64_t);
template std::shared_ptr<const Plan<double>> planFor<double>(int64_t);
template std::shared_ptr<const std::vector<float>> halfRootsFor<float>(int64_t);
template std::shared_ptr<const std::vector<double>> halfRootsFor<double>(int64_t);
template void unitRoot<float>(int64_t, int64_t, float &, float &);
template void unitRoot<double>(int64_t, int64_t, double &, double &);

} // namespace hlo::runtime::fft
