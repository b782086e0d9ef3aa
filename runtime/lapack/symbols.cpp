#include "symbols.h"

#include "../runtime.h"
#include "factorizations.h"
#include "spectra.h"

namespace hlo::runtime::lapack {
namespace {

template <typename Routine>
int32_t entry(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
              int64_t scratchBytes) {
  try {
    const Call call(buffers, parameters);
    solveBatch(runtime->threads, Routine(call), scratch, scratchBytes);
    return HLO_OK;
  } catch (const Error &error) {
    return fail(runtime, error.code, error.what());
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "LAPACK: out of memory");
  }
}

template <typename Routine> int64_t scratchOf(int threads, const int64_t *parameters) {
  try {
    const Call call(nullptr, parameters);
    return scratchBytes(threads, Routine(call));
  } catch (const Error &) {
    return 0; // the call itself reports it
  }
}

template <typename T> using GesddSvd = Svd<T, true>;
template <typename T> using GesvdSvd = Svd<T, false>;
using C64 = std::complex<float>;
using C128 = std::complex<double>;

std::vector<Entry> makeEntries() {
  std::vector<Entry> made;
#define HLO_ENTRY(NAME, ROUTINE, T)                                                                                    \
  made.push_back({"hlo_rt_lapack_" NAME "_ffi", entry<ROUTINE<T>>, scratchOf<ROUTINE<T>>});
#define HLO_REAL_ENTRIES(NAME, ROUTINE)                                                                                \
  HLO_ENTRY("s" NAME, ROUTINE, float)                                                                                  \
  HLO_ENTRY("d" NAME, ROUTINE, double)
#define HLO_COMPLEX_ENTRIES(NAME, ROUTINE)                                                                             \
  HLO_ENTRY("c" NAME, ROUTINE, C64)                                                                                    \
  HLO_ENTRY("z" NAME, ROUTINE, C128)
#define HLO_ENTRIES(NAME, ROUTINE)                                                                                     \
  HLO_REAL_ENTRIES(NAME, ROUTINE)                                                                                      \
  HLO_COMPLEX_ENTRIES(NAME, ROUTINE)
  HLO_ENTRIES("trsm", TriangularSolve)
  HLO_ENTRIES("potrf", Cholesky)
  HLO_ENTRIES("getrf", Lu)
  HLO_ENTRIES("geqrf", Qr)
  HLO_ENTRIES("geqp3", PivotedQr)
  HLO_REAL_ENTRIES("orgqr", HouseholderProduct)
  HLO_COMPLEX_ENTRIES("ungqr", HouseholderProduct)
  HLO_REAL_ENTRIES("ormqr", HouseholderMultiply)
  HLO_COMPLEX_ENTRIES("unmqr", HouseholderMultiply)
  HLO_ENTRIES("gtsv", TridiagonalSolve)
  HLO_ENTRIES("gtsv_perturbed", PerturbedTridiagonalSolve)
  HLO_ENTRIES("gesdd", GesddSvd)
  HLO_ENTRIES("gesvd", GesvdSvd)
  HLO_REAL_ENTRIES("syevd", SymmetricEigen)
  HLO_COMPLEX_ENTRIES("heevd", SymmetricEigen)
  HLO_ENTRIES("geev", GeneralEigen)
  HLO_ENTRIES("gees", Schur)
  HLO_REAL_ENTRIES("sytrd", Tridiagonal)
  HLO_COMPLEX_ENTRIES("hetrd", Tridiagonal)
  HLO_ENTRIES("gehrd", Hessenberg)
#undef HLO_ENTRIES
#undef HLO_COMPLEX_ENTRIES
#undef HLO_REAL_ENTRIES
#undef HLO_ENTRY
  return made;
}

} // namespace

const std::vector<Entry> &entries() {
  static const std::vector<Entry> made = makeEntries();
  return made;
}

} // namespace hlo::runtime::lapack
