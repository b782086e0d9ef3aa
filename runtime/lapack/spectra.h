// Singular values, eigenvalues and the forms on the way to them.
#pragma once

#include "factorizations.h"

#include <algorithm>
#include <cmath>

namespace hlo::runtime::lapack {

/// Singular values and vectors by divide and conquer (gesdd) or by QR iterations (gesvd).
template <typename T, bool divideAndConquer> class Svd : public PlannedProblem<Svd<T, divideAndConquer>> {
public:
  using PlannedProblem<Svd<T, divideAndConquer>>::batch, PlannedProblem<Svd<T, divideAndConquer>>::flops,
      PlannedProblem<Svd<T, divideAndConquer>>::solve;

  explicit Svd(const Call &call) : call(call), routine(divideAndConquer ? "gesdd" : "gesvd") {
    call.expect({2}, {2, 1, 2, 2, 0});
    mode = static_cast<char>(call.attributes[0]);
    m = fortran(call.operands[0].rows());
    n = fortran(call.operands[0].columns());
    uColumns = fortran(call.results[2].columns());
    vtRows = fortran(call.results[3].rows());
    batch = call.operands[0].batch(2);
    flops = 20 * cube(std::max(m, n));
    T size(1);
    int info = 0;
    Real<T> real(0);
    int32_t integer = 0;
    run(nullptr, nullptr, nullptr, nullptr, &size, -1, &real, &integer, info);
    workSize = queried(size);
    const int64_t small = std::min(m, n), large = std::max(m, n);
    realSize = !divideAndConquer ? 5 * small
               : mode == 'N' ? 7 * small
                             : std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small);
  }

  struct Work {
    T *a, *u, *vt, *work;
    Real<T> *real;
    int32_t *integers;
  };
  Work carve(Carver &carver) const {
    return {call.spareFor<T>(call.results[0], carver),
            call.spareFor<T>(call.results[2], carver),
            call.spareFor<T>(call.results[3], carver),
            carver.take<T>(workSize),
            carver.take<Real<T>>(isComplex<T> ? realSize : 0),
            carver.take<int32_t>(divideAndConquer ? 8 * static_cast<int64_t>(std::min(m, n)) : 0)};
  }

  void solve(int64_t item, const Work &work) const {
    T *a = call.memoryFor(call.results[0], item, work.a), *u = call.memoryFor(call.results[2], item, work.u),
      *vt = call.memoryFor(call.results[3], item, work.vt);
    call.load(call.operands[0], item, a);
    std::fill_n(u, static_cast<int64_t>(m) * uColumns, T(0));
    std::fill_n(vt, static_cast<int64_t>(vtRows) * n, T(0));
    run(a, call.resultVector<Real<T>>(1, item), u, vt, work.work, fortran(workSize), work.real, work.integers,
        call.info(4, item));
    call.store(call.results[0], item, a);
    call.store(call.results[2], item, u);
    call.store(call.results[3], item, vt);
  }

private:
  void run(T *a, Real<T> *s, T *u, T *vt, T *work, int length, Real<T> *real, int32_t *integers, int32_t &info) const {
    const int lda = leading(m), ldvt = leading(vtRows);
    if constexpr (divideAndConquer && isComplex<T>)
      routine(&mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, real, integers, &info);
    else if constexpr (divideAndConquer)
      routine(&mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, integers, &info);
    else if constexpr (isComplex<T>)
      routine(&mode, &mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, real, &info);
    else
      routine(&mode, &mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, &info);
  }

  const Call &call;
  const Routine<T> routine;
  char mode;
  int m, n, uColumns, vtRows;
  int64_t workSize, realSize;
};

/// Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix.
template <typename T> class SymmetricEigen : public PlannedProblem<SymmetricEigen<T>> {
public:
  using PlannedProblem<SymmetricEigen<T>>::batch, PlannedProblem<SymmetricEigen<T>>::flops,
      PlannedProblem<SymmetricEigen<T>>::solve;

  explicit SymmetricEigen(const Call &call) : call(call), routine(isComplex<T> ? "heevd" : "syevd") {
    call.expect({2}, {2, 1, 0});
    mode = static_cast<char>(call.attributes[0]);
    uplo = static_cast<char>(call.attributes[1]);
    n = fortran(call.operands[0].rows());
    batch = call.operands[0].batch(2);
    flops = 10 * cube(n);
    T size(1);
    Real<T> real(1);
    int32_t integer = 1, info = 0;
    run(nullptr, nullptr, &size, -1, &real, -1, &integer, -1, info);
    workSize = queried(size);
    realSize = queried(real);
    integerSize = std::max<int64_t>(integer, 1);
  }

  struct Work {
    T *work;
    Real<T> *real;
    int32_t *integers;
  };
  Work carve(Carver &carver) const {
    return {carver.take<T>(workSize), carver.take<Real<T>>(isComplex<T> ? realSize : 0),
            carver.take<int32_t>(integerSize)};
  }

  void solve(int64_t item, const Work &work) const {
    T *a = call.matrixOf<T>(call.results[0], item);
    call.load(call.operands[0], item, a);
    run(a, call.resultVector<Real<T>>(1, item), work.work, fortran(workSize), work.real, fortran(realSize),
        work.integers, fortran(integerSize), call.info(2, item));
    call.store(call.results[0], item, a);
  }

private:
  void run(T *a, Real<T> *w, T *work, int length, Real<T> *real, int realLength, int32_t *integers, int integerLength,
           int32_t &info) const {
    const int lda = leading(n);
    if constexpr (isComplex<T>)
      routine(&mode, &uplo, &n, a, &lda, w, work, &length, real, &realLength, integers, &integerLength, &info);
    else
      routine(&mode, &uplo, &n, a, &lda, w, work, &length, integers, &integerLength, &info);
  }

  const Call &call;
  const Routine<T> routine;
  char mode, uplo;
  int n;
  int64_t workSize, realSize, integerSize;
};

// The iterations below need not end on infinities and NaNs; such a matrix is reported as a bad argument 4, as LAPACK's
// own drivers do where they look.
constexpr int32_t notFinite = -4;

template <typename T> bool allFinite(const T *values, int64_t count) {
  const auto *numbers = reinterpret_cast<const Real<T> *>(values);
  const int64_t total = isComplex<T> ? 2 * count : count;
  return std::all_of(numbers, numbers + total, [](Real<T> x) { return std::isfinite(x); });
}

/// Eigenvalues and left and right eigenvectors of a general matrix. Real matrices give their eigenvalues as two
/// results, real and imaginary parts, and complex eigenvectors.
template <typename T> class GeneralEigen : public PlannedProblem<GeneralEigen<T>> {
public:
  using PlannedProblem<GeneralEigen<T>>::batch, PlannedProblem<GeneralEigen<T>>::flops,
      PlannedProblem<GeneralEigen<T>>::solve;

  using Complex = std::complex<Real<T>>;

  explicit GeneralEigen(const Call &call) : call(call), routine("geev") {
    if constexpr (isComplex<T>)
      call.expect({2}, {1, 2, 2, 0});
    else
      call.expect({2}, {1, 1, 2, 2, 0});
    left = static_cast<char>(call.attributes[0]);
    right = static_cast<char>(call.attributes[1]);
    n = fortran(call.operands[0].rows());
    batch = call.operands[0].batch(2);
    flops = 25 * cube(n);
    T size(1);
    int32_t info = 0;
    Real<T> real(0); // a query may write its first element
    run(nullptr, nullptr, nullptr, nullptr, nullptr, &size, -1, &real, info);
    workSize = queried(size);
  }

  struct Work {
    T *a, *vl, *vr, *work;
    Real<T> *real;
  };
  Work carve(Carver &carver) const {
    const int64_t count = static_cast<int64_t>(n) * n, spare = isComplex<T> ? 0 : count;
    return {carver.take<T>(count), carver.take<T>(spare), carver.take<T>(spare), carver.take<T>(workSize),
            carver.take<Real<T>>(isComplex<T> ? 2 * static_cast<int64_t>(n) : 0)};
  }

  void solve(int64_t item, const Work &work) const {
    const int64_t count = static_cast<int64_t>(n) * n;
    T *a = work.a, *vl = work.vl, *vr = work.vr;
    if constexpr (isComplex<T>) {
      vl = call.matrixOf<T>(call.results[first], item);
      vr = call.matrixOf<T>(call.results[first + 1], item);
    }
    call.load(call.operands[0], item, a);
    std::fill_n(vl, count, T(0));
    std::fill_n(vr, count, T(0));
    T *w = call.resultVector<T>(0, item);
    T *wi = isComplex<T> ? nullptr : call.resultVector<T>(1, item);
    int32_t &info = call.info(first + 2, item);
    info = notFinite;
    if (allFinite(a, count)) {
      run(a, w, wi, vl, vr, work.work, fortran(workSize), work.real, info);
    } else {
      std::fill_n(w, n, T(0));
      if (wi)
        std::fill_n(wi, n, T(0));
    }
    storeVectors(first, item, vl, wi);
    storeVectors(first + 1, item, vr, wi);
  }

private:
  static constexpr size_t first = isComplex<T> ? 1 : 2; // result with the left eigenvectors

  void run(T *a, T *w, T *wi, T *vl, T *vr, T *work, int length, Real<T> *real, int32_t &info) const {
    const int lda = leading(n);
    if constexpr (isComplex<T>)
      routine(&left, &right, &n, a, &lda, w, vl, &lda, vr, &lda, work, &length, real, &info);
    else
      routine(&left, &right, &n, a, &lda, w, wi, vl, &lda, vr, &lda, work, &length, &info);
  }

  // A conjugate pair of eigenvalues shares two real columns: its vectors' real and imaginary parts.
  void storeVectors(size_t result, int64_t item, T *vectors, const T *wi) const {
    if constexpr (isComplex<T>) {
      call.store(call.results[result], item, vectors);
    } else {
      auto *complex = call.matrixOf<Complex>(call.results[result], item);
      for (int64_t j = 0; j < n; ++j) {
        const T *column = vectors + j * n;
        const bool isPair = wi[j] != 0 && !std::isnan(wi[j]) && j + 1 < n;
        for (int64_t i = 0; i < n; ++i) {
          complex[j * n + i] = isPair ? Complex(column[i], column[n + i]) : Complex(column[i], 0);
          if (isPair)
            complex[(j + 1) * n + i] = Complex(column[i], -column[n + i]);
        }
        j += isPair;
      }
      call.store(call.results[result], item, complex);
    }
  }

  const Call &call;
  const Routine<T> routine;
  char left, right;
  int n;
  int64_t workSize;
};

/// The Schur form and its vectors, eigenvalues unsorted.
template <typename T> class Schur : public PlannedProblem<Schur<T>> {
public:
  using PlannedProblem<Schur<T>>::batch, PlannedProblem<Schur<T>>::flops, PlannedProblem<Schur<T>>::solve;

  explicit Schur(const Call &call) : call(call), routine("gees") {
    if constexpr (isComplex<T>)
      call.expect({2}, {2, 2, 1, 0, 0});
    else
      call.expect({2}, {2, 2, 1, 1, 0, 0});
    mode = static_cast<char>(call.attributes[0]);
    if (call.attributes[1] != 'N')
      throw Error(HLO_ERROR, "LAPACK: sorting the eigenvalues of a Schur form needs a function and is not supported");
    n = fortran(call.operands[0].rows());
    batch = call.operands[0].batch(2);
    flops = 25 * cube(n);
    T size(1);
    int32_t selected = 0, info = 0;
    Real<T> real(0);
    run(nullptr, nullptr, nullptr, nullptr, &size, -1, &real, selected, info);
    workSize = queried(size);
  }

  struct Work {
    T *work;
    Real<T> *real;
  };
  Work carve(Carver &carver) const { return {carver.take<T>(workSize), carver.take<Real<T>>(isComplex<T> ? n : 0)}; }

  void solve(int64_t item, const Work &work) const {
    const int64_t count = static_cast<int64_t>(n) * n;
    T *a = call.matrixOf<T>(call.results[0], item), *vectors = call.matrixOf<T>(call.results[1], item);
    call.load(call.operands[0], item, a);
    std::fill_n(vectors, count, T(0));
    T *w = call.resultVector<T>(2, item), *wi = isComplex<T> ? nullptr : call.resultVector<T>(3, item);
    int32_t &info = call.info(last, item), &selected = call.info(last - 1, item);
    info = notFinite;
    selected = 0;
    if (allFinite(a, count)) {
      run(a, w, wi, vectors, work.work, fortran(workSize), work.real, selected, info);
    } else {
      std::fill_n(w, n, T(0));
      if (wi)
        std::fill_n(wi, n, T(0));
    }
    call.store(call.results[0], item, a);
    call.store(call.results[1], item, vectors);
  }

private:
  static constexpr size_t last = isComplex<T> ? 4 : 5;

  void run(T *a, T *w, T *wi, T *vectors, T *work, int length, Real<T> *real, int32_t &selected, int32_t &info) const {
    const char unsorted = 'N';
    const int lda = leading(n);
    int32_t flags = 0; // not used without sorting, and so is the function
    if constexpr (isComplex<T>)
      routine(&mode, &unsorted, &flags, &n, a, &lda, &selected, w, vectors, &lda, work, &length, real, &flags, &info);
    else
      routine(&mode, &unsorted, &flags, &n, a, &lda, &selected, w, wi, vectors, &lda, work, &length, &flags, &info);
  }

  const Call &call;
  const Routine<T> routine;
  char mode;
  int n;
  int64_t workSize;
};

/// A symmetric or Hermitian matrix to tridiagonal form.
template <typename T> class Tridiagonal : public PlannedProblem<Tridiagonal<T>> {
public:
  using PlannedProblem<Tridiagonal<T>>::batch, PlannedProblem<Tridiagonal<T>>::flops,
      PlannedProblem<Tridiagonal<T>>::solve;

  explicit Tridiagonal(const Call &call) : call(call), routine(isComplex<T> ? "hetrd" : "sytrd") {
    call.expect({2}, {2, 1, 1, 1, 0});
    uplo = static_cast<char>(call.attributes[0]);
    n = fortran(call.operands[0].rows());
    batch = call.operands[0].batch(2);
    flops = 2 * cube(n);
    T size(1);
    int32_t info = 0;
    run(nullptr, nullptr, nullptr, nullptr, &size, -1, info);
    workSize = queried(size);
  }

  struct Work {
    T *work;
  };
  Work carve(Carver &carver) const { return {carver.take<T>(workSize)}; }

  void solve(int64_t item, const Work &work) const {
    T *a = call.matrixOf<T>(call.results[0], item);
    call.load(call.operands[0], item, a);
    run(a, call.resultVector<Real<T>>(1, item), call.resultVector<Real<T>>(2, item), call.resultVector<T>(3, item),
        work.work, fortran(workSize), call.info(4, item));
    call.store(call.results[0], item, a);
  }

private:
  void run(T *a, Real<T> *d, Real<T> *e, T *tau, T *work, int length, int32_t &info) const {
    const int lda = leading(n);
    routine(&uplo, &n, a, &lda, d, e, tau, work, &length, &info);
  }

  const Call &call;
  const Routine<T> routine;
  char uplo;
  int n;
  int64_t workSize;
};

/// A general matrix to Hessenberg form.
template <typename T> class Hessenberg : public PlannedProblem<Hessenberg<T>> {
public:
  using PlannedProblem<Hessenberg<T>>::batch, PlannedProblem<Hessenberg<T>>::flops,
      PlannedProblem<Hessenberg<T>>::solve;

  explicit Hessenberg(const Call &call) : call(call), routine("gehrd") {
    call.expect({2}, {2, 1, 0});
    high = fortran(call.attributes[0]);
    low = fortran(call.attributes[1]);
    n = fortran(call.operands[0].rows());
    batch = call.operands[0].batch(2);
    flops = 4 * cube(n);
    T size(1);
    int32_t info = 0;
    run(nullptr, nullptr, &size, -1, info);
    workSize = queried(size);
  }

  struct Work {
    T *work;
  };
  Work carve(Carver &carver) const { return {carver.take<T>(workSize)}; }

  void solve(int64_t item, const Work &work) const {
    T *a = call.matrixOf<T>(call.results[0], item);
    call.load(call.operands[0], item, a);
    run(a, call.resultVector<T>(1, item), work.work, fortran(workSize), call.info(2, item));
    call.store(call.results[0], item, a);
  }

private:
  void run(T *a, T *tau, T *work, int length, int32_t &info) const {
    const int lda = leading(n);
    routine(&n, &low, &high, a, &lda, tau, work, &length, &info);
  }

  const Call &call;
  const Routine<T> routine;
  int high, low, n;
  int64_t workSize;
};

} // namespace hlo::runtime::lapack
