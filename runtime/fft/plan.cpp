#include "plan.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace hlo::runtime::fft {
namespace {

enum class Level { Baseline, Avx2, Avx512 };

Level findLevel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Level::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Level::Avx2;
#endif
  return Level::Baseline;
}

// What choose makes of the inner loops of the machine's level; those of other levels may not exist.
#if defined(__x86_64__)
#define HLO_FFT_CHOOSE(MAKE)                                                                                           \
  (findLevel() == Level::Avx512 ? MAKE(avx512) : findLevel() == Level::Avx2 ? MAKE(avx2) : MAKE(baseline))
#else
#define HLO_FFT_CHOOSE(MAKE) MAKE(baseline)
#endif

} // namespace

template <typename T> const Arithmetic<T> &arithmetic() {
#define HLO_FFT_MAKE(LEVEL)                                                                                            \
  Arithmetic<T> {                                                                                                      \
    LEVEL::Stages<T>::stage, LEVEL::Spectra<T>::multiply, LEVEL::Spectra<T>::pairsToBins,                              \
        LEVEL::Spectra<T>::binsToPairs                                                                                 \
  }
  static const Arithmetic<T> chosen = HLO_FFT_CHOOSE(HLO_FFT_MAKE);
#undef HLO_FFT_MAKE
  return chosen;
}

template <typename T, typename C> const Transfer<T, C> &transfer() {
#define HLO_FFT_MAKE(LEVEL)                                                                                            \
  Transfer<T, C> {                                                                                                     \
    LEVEL::Tensors<T, C>::load, LEVEL::Tensors<T, C>::store, LEVEL::Tensors<T, C>::loadReal,                           \
        LEVEL::Tensors<T, C>::storeReal                                                                                \
  }
  static const Transfer<T, C> chosen = HLO_FFT_CHOOSE(HLO_FFT_MAKE);
#undef HLO_FFT_MAKE
  return chosen;
}

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

namespace {

// The order of the stages: fours and eights without a two where there is a choice, then the odd factors. What cannot be
// split into radices is left as the last element.
std::vector<int64_t> factors(int64_t n) {
  std::vector<int64_t> found;
  int twos = 0;
  for (; n % 2 == 0; n /= 2)
    ++twos;
  const int fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0;
  found.insert(found.end(), static_cast<size_t>(fours), 4);
  twos -= 2 * fours;
  found.insert(found.end(), static_cast<size_t>(twos / 3), 8);
  found.insert(found.end(), static_cast<size_t>(twos % 3), 2);
  for (int64_t radix = 3; radix <= largestRadix; radix += 2)
    for (; n % radix == 0; n /= radix)
      found.push_back(radix);
  if (n > 1)
    found.push_back(n);
  return found;
}

// The next length that quick stages do.
int64_t paddedLength(int64_t atLeast) {
  int64_t best = 0;
  for (int64_t odd : {1, 3, 5, 7, 9, 15}) {
    int64_t size = odd;
    while (size < atLeast)
      size *= 2;
    best = best == 0 || size < best ? size : best;
  }
  return best;
}

} // namespace

bool hasSmallFactors(int64_t n) {
  for (int64_t radix = 2; radix <= largestRadix; ++radix)
    while (n % radix == 0)
      n /= radix;
  return n == 1;
}

template <typename T> Plan<T>::Plan(int64_t n) : n(n) {
  if (!hasSmallFactors(n)) {
    prepareBluestein();
    return;
  }
  int64_t done = 1;
  for (int64_t radix : factors(n)) {
    addStage(static_cast<int>(radix), done);
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
// length of small factors does.
template <typename T> void Plan<T>::prepareBluestein() {
  const int64_t size = paddedLength(2 * n - 1);
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
  padded->run({filterRe.data(), filterIm.data(), false}, scratch.data());
}

template <typename T> int64_t Plan<T>::scratchSize(int64_t lanes) const {
  return padded ? 2 * padded->length() * lanes + padded->scratchSize(lanes) : 2 * n * lanes;
}

template <typename T> void Plan<T>::run(const Split<T> &data, T *scratch) const {
  if (padded)
    return runBluestein(data, scratch);
  const int64_t total = n * data.width();
  T *fromRe = data.re, *fromIm = data.im, *toRe = scratch, *toIm = scratch + total;
  for (const Stage<T> &stage : stages) {
    arithmetic<T>().stage(stage, data.grouped, fromRe, fromIm, toRe, toIm);
    std::swap(fromRe, toRe);
    std::swap(fromIm, toIm);
  }
  if (fromRe == data.re)
    return;
  std::memcpy(data.re, fromRe, static_cast<size_t>(total) * sizeof(T));
  std::memcpy(data.im, fromIm, static_cast<size_t>(total) * sizeof(T));
}

template <typename T> void Plan<T>::runBluestein(const Split<T> &data, T *scratch) const {
  const int64_t size = padded->length(), total = size * data.width(), present = n * data.width();
  const Split<T> work{scratch, scratch + total, data.grouped};
  T *rest = scratch + 2 * total;
  const auto &multiply = arithmetic<T>().multiply;
  multiply(work, data, chirpRe.data(), chirpIm.data(), n);
  std::memset(work.re + present, 0, static_cast<size_t>(total - present) * sizeof(T));
  std::memset(work.im + present, 0, static_cast<size_t>(total - present) * sizeof(T));
  padded->run(work, rest);
  multiply(work, work, filterRe.data(), filterIm.data(), size);
  padded->run({work.im, work.re, work.grouped}, rest); // exchanged: backward
  multiply(data, work, chirpRe.data(), chirpIm.data(), n);
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
template const Arithmetic<float> &arithmetic<float>();
template const Arithmetic<double> &arithmetic<double>();
template const Transfer<float, float> &transfer<float, float>();
template const Transfer<float, double> &transfer<float, double>();
template const Transfer<double, double> &transfer<double, double>();
template void unitRoot<float>(int64_t, int64_t, float &, float &);
template void unitRoot<double>(int64_t, int64_t, double &, double &);

} // namespace hlo::runtime::fft
