#include "blas.h"

#include "runtime.h"
#include "thread_pool.h"

#include <algorithm>
#include <climits>
#include <complex>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

namespace hlo::runtime {
namespace {

struct Blas {
  std::mutex mutex;
  std::string path;
  std::string error;
  bool tried = false;
  void *handle = nullptr;
};

Blas &blas() {
  static Blas *made = new Blas;
  return *made;
}

// The wheel's build prefixes every symbol, so that it lives beside NumPy's and SciPy's copies.
void *findSymbol(void *handle, const std::string &name) {
  void *symbol = dlsym(handle, ("scipy_" + name).c_str());
  return symbol ? symbol : dlsym(handle, name.c_str());
}

bool load(Blas &state) {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.tried)
    return state.handle;
  state.tried = true;
  if (state.path.empty()) {
    state.error = "no BLAS library is installed: pip install scipy-openblas32";
    return false;
  }
  void *handle = dlopen(state.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    state.error = dlerror();
    return false;
  }
  if (auto setThreads = reinterpret_cast<void (*)(int)>(findSymbol(handle, "openblas_set_num_threads")))
    setThreads(1);
  state.handle = handle;
  return true;
}

enum Transpose { none = 0, transposed = 1, conjugated = 2 };
constexpr int rowMajor = 101;
constexpr int cblasTranspose[] = {111, 112, 113};

template <typename T> struct Scalar {
  using Real = T;
  static constexpr bool isComplex = false;
};
template <typename T> struct Scalar<std::complex<T>> {
  using Real = T;
  static constexpr bool isComplex = true;
};

// cblas takes real scalars by value and complex ones by address.
template <typename T> struct Routines;
#define HLO_ROUTINES(T, PASS, LETTER)                                                                                  \
  template <> struct Routines<T> {                                                                                     \
    using Gemm = void (*)(int, int, int, int, int, int, PASS, const T *, int, const T *, int, PASS, T *, int);         \
    using Gemv = void (*)(int, int, int, int, PASS, const T *, int, const T *, int, PASS, T *, int);                   \
    static Gemm gemm() {                                                                                               \
      static const Gemm routine = reinterpret_cast<Gemm>(blasSymbol("cblas_" LETTER "gemm"));                          \
      return routine;                                                                                                  \
    }                                                                                                                  \
    static Gemv gemv() {                                                                                               \
      static const Gemv routine = reinterpret_cast<Gemv>(blasSymbol("cblas_" LETTER "gemv"));                          \
      return routine;                                                                                                  \
    }                                                                                                                  \
  };
HLO_ROUTINES(float, float, "s")
HLO_ROUTINES(double, double, "d")
HLO_ROUTINES(std::complex<float>, const void *, "c")
HLO_ROUTINES(std::complex<double>, const void *, "z")
#undef HLO_ROUTINES

template <typename T> auto pass(const T &scalar) {
  if constexpr (Scalar<T>::isComplex)
    return static_cast<const void *>(&scalar);
  else
    return scalar;
}

/// A multiplication and how it is split; see hlo_rt_gemm in kernel_abi.h.
template <typename T> struct Gemm {
  Transpose transA, transB;
  int64_t m, n, k;
  T alpha;
  const T *a;
  int64_t lda, strideA;
  const T *b;
  int64_t ldb, strideB;
  T beta;
  T *c;
  int64_t ldc, strideC;
  int64_t batch;
  int64_t pieces = 1; // of each matrix, along m or n
  bool splitRows = true;
};

template <typename T> void scaleResult(const Gemm<T> &g, int64_t item) {
  for (int64_t i = 0; i < g.m; ++i) {
    T *row = g.c + item * g.strideC + i * g.ldc;
    for (int64_t j = 0; j < g.n; ++j)
      row[j] = g.beta == T(0) ? T(0) : row[j] * g.beta;
  }
}

// One column: y = op(A) x. A zero beta must not read y, which gemv does when y holds NaN; so clear it here.
template <typename T> bool runAsVector(const Gemm<T> &g, const T *a, const T *b, T *c, int64_t m, int64_t n) {
  const bool columnResult = n == 1 && g.transB != conjugated;
  const bool rowResult = m == 1 && g.transA != conjugated && g.transB != conjugated;
  if (!columnResult && !rowResult)
    return false;
  const int64_t length = columnResult ? m : n;
  const int64_t stepC = columnResult ? g.ldc : 1;
  T beta = g.beta;
  if (beta == T(0)) {
    for (int64_t i = 0; i < length; ++i)
      c[i * stepC] = T(0);
    beta = T(1);
  }
  const T *matrix = columnResult ? a : b;
  const T *vector = columnResult ? b : a;
  const int64_t ld = columnResult ? g.lda : g.ldb;
  const int64_t stepX = columnResult ? (g.transB == none ? g.ldb : 1) : (g.transA == none ? 1 : g.lda);
  const Transpose trans = columnResult ? g.transA : (g.transB == none ? transposed : none);
  const bool stored = trans == none;
  Routines<T>::gemv()(rowMajor, cblasTranspose[trans], static_cast<int>(stored ? length : g.k),
                      static_cast<int>(stored ? g.k : length), pass(g.alpha), matrix, static_cast<int>(ld), vector,
                      static_cast<int>(stepX), pass(beta), c, static_cast<int>(stepC));
  return true;
}

template <typename T> void runPiece(const Gemm<T> &g, int64_t item, int64_t piece) {
  if (g.k == 0)
    return piece == 0 ? scaleResult(g, item) : void();
  constexpr int64_t step = 16; // keep pieces on whole register tiles
  const int64_t extent = g.splitRows ? g.m : g.n;
  const int64_t size = ((extent + g.pieces - 1) / g.pieces + step - 1) / step * step;
  const int64_t begin = g.pieces == 1 ? 0 : std::min(piece * size, extent);
  const int64_t end = g.pieces == 1 ? extent : std::min(begin + size, extent);
  if (begin >= end)
    return;
  const T *a = g.a + item * g.strideA;
  const T *b = g.b + item * g.strideB;
  T *c = g.c + item * g.strideC;
  int64_t m = g.m, n = g.n;
  if (g.splitRows) {
    a += begin * (g.transA == none ? g.lda : 1);
    c += begin * g.ldc;
    m = end - begin;
  } else {
    b += begin * (g.transB == none ? 1 : g.ldb);
    c += begin;
    n = end - begin;
  }
  if (runAsVector(g, a, b, c, m, n))
    return;
  Routines<T>::gemm()(rowMajor, cblasTranspose[g.transA], cblasTranspose[g.transB], static_cast<int>(m),
                      static_cast<int>(n), static_cast<int>(g.k), pass(g.alpha), a, static_cast<int>(g.lda), b,
                      static_cast<int>(g.ldb), pass(g.beta), c, static_cast<int>(g.ldc));
}

template <typename T> void runRange(void **args, int64_t begin, int64_t end) {
  const auto &g = *static_cast<const Gemm<T> *>(args[0]);
  for (int64_t unit = begin; unit < end; ++unit)
    runPiece(g, unit / g.pieces, unit % g.pieces);
}

// A leading dimension only matters when there is a second row; vendor code insists on a sensible one anyway.
bool checkLeadingDimension(int64_t &ld, int64_t rows, int64_t columns) {
  if (rows <= 1 || columns == 0)
    ld = std::max({ld, columns, int64_t{1}});
  return ld >= std::max<int64_t>(columns, 1) && ld <= INT_MAX;
}

// Below this work a piece costs more to hand out than it saves.
constexpr double flopsPerPiece = 1.5e6;

template <typename T> void chooseSplit(Gemm<T> &g, int threads) {
  const double flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                       static_cast<double>(std::max<int64_t>(g.k, 1)) * (Scalar<T>::isComplex ? 4 : 1);
  if (threads == 1 || g.batch >= 2 * threads)
    return;
  g.splitRows = g.m >= g.n;
  const int64_t widest = std::max<int64_t>((std::max(g.m, g.n) + 15) / 16, 1);
  const int64_t wanted = (threads + g.batch - 1) / g.batch;
  g.pieces = std::clamp<int64_t>(static_cast<int64_t>(flops / flopsPerPiece), 1, std::min(wanted, widest));
}

template <typename T> int32_t run(const HloRuntime *runtime, Gemm<T> g) {
  if (g.m == 0 || g.n == 0 || g.batch == 0)
    return HLO_OK;
  if (!Routines<T>::gemm() || !Routines<T>::gemv())
    return fail(runtime, HLO_ERROR_NO_LIBRARY, blasError().c_str());
  const bool valid = g.m > 0 && g.n > 0 && g.k >= 0 && g.batch > 0 && std::max({g.m, g.n, g.k}) <= INT_MAX &&
                     checkLeadingDimension(g.lda, g.transA ? g.k : g.m, g.transA ? g.m : g.k) &&
                     checkLeadingDimension(g.ldb, g.transB ? g.n : g.k, g.transB ? g.k : g.n) &&
                     checkLeadingDimension(g.ldc, g.m, g.n);
  if (!valid)
    return fail(runtime, HLO_ERROR, "matrix multiplication: sizes or leading dimensions are out of range");
  chooseSplit(g, runtime->threads);
  const double flopsPerItem = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                              static_cast<double>(std::max<int64_t>(g.k, 1)) / static_cast<double>(g.pieces);
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(flopsPerPiece / 4 / flopsPerItem));
  void *args[] = {&g};
  parallelFor(runtime->threads, runRange<T>, args, g.batch * g.pieces, grain);
  return HLO_OK;
}

template <typename T, typename Raw>
Gemm<T> describe(int32_t transA, int32_t transB, int64_t m, int64_t n, int64_t k, const Raw *alpha, const Raw *a,
                 int64_t lda, int64_t strideA, const Raw *b, int64_t ldb, int64_t strideB, const Raw *beta, Raw *c,
                 int64_t ldc, int64_t strideC, int64_t batch) {
  const auto transpose = [](int32_t code) {
    return static_cast<Transpose>(code == 2 && !Scalar<T>::isComplex ? 1 : code);
  };
  return {transpose(transA),
          transpose(transB),
          m,
          n,
          k,
          *reinterpret_cast<const T *>(alpha),
          reinterpret_cast<const T *>(a),
          lda,
          strideA,
          reinterpret_cast<const T *>(b),
          ldb,
          strideB,
          *reinterpret_cast<const T *>(beta),
          reinterpret_cast<T *>(c),
          ldc,
          strideC,
          batch};
}

} // namespace

void setBlasPath(const std::string &path) {
  std::lock_guard<std::mutex> lock(blas().mutex);
  blas().path = path;
}

bool blasAvailable() { return load(blas()); }

std::string blasError() {
  load(blas());
  std::lock_guard<std::mutex> lock(blas().mutex);
  return blas().error;
}

void *blasSymbol(const char *name) { return blasAvailable() ? findSymbol(blas().handle, name) : nullptr; }

} // namespace hlo::runtime

using namespace hlo::runtime;

#define HLO_DEFINE_GEMM(SUFFIX, RAW, T)                                                                                \
  int32_t hlo_rt_gemm_##SUFFIX(const HloRuntime *runtime, int32_t trans_a, int32_t trans_b, int64_t m, int64_t n,      \
                               int64_t k, const RAW *alpha, const RAW *a, int64_t lda, const RAW *b, int64_t ldb,      \
                               const RAW *beta, RAW *c, int64_t ldc) {                                                 \
    return run(runtime, describe<T>(trans_a, trans_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1));      \
  }                                                                                                                    \
  int32_t hlo_rt_gemm_batched_##SUFFIX(const HloRuntime *runtime, int32_t trans_a, int32_t trans_b, int64_t m,         \
                                       int64_t n, int64_t k, const RAW *alpha, const RAW *a, int64_t lda,              \
                                       int64_t stride_a, const RAW *b, int64_t ldb, int64_t stride_b, const RAW *beta, \
                                       RAW *c, int64_t ldc, int64_t stride_c, int64_t batch) {                         \
    return run(runtime, describe<T>(trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,     \
                                    ldc, stride_c, batch));                                                            \
  }
HLO_DEFINE_GEMM(f32, float, float)
HLO_DEFINE_GEMM(f64, double, double)
HLO_DEFINE_GEMM(c64, float, std::complex<float>)
HLO_DEFINE_GEMM(c128, double, std::complex<double>)
#undef HLO_DEFINE_GEMM
