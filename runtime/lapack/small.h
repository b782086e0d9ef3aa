// Factorisations and triangular solves of matrices so small that the call of a routine costs more than its arithmetic:
// the algorithms of LAPACK's getf2, potf2 and of the BLAS's trsm on matrices of any strides.
#pragma once

#include "problem.h"

#include <cmath>
#include <utility>

namespace hlo::runtime::lapack {

/// The largest orders that are done here. Of 2048 matrices in f32, a thread takes for each: LU of order 3 85 ns and not
/// 215, of order 8 190 and not 1350; Cholesky 75 and 140, not 145 and 430; a solve for 4 columns 55 and 200, not 210
/// and 415. At 12 (8 of a solve) both take about the same.
constexpr int64_t mostSmall = 12, mostSmallSolve = 8;

template <typename T> struct Matrix {
  T *data;
  int64_t rowStride, columnStride;

  T &operator()(int64_t i, int64_t j) const { return data[i * rowStride + j * columnStride]; }
  Matrix transposed() const { return {data, columnStride, rowStride}; }
};

template <typename T> Matrix<T> matrixIn(const Call &call, const Tensor &tensor, T *data) {
  return call.columnMajor ? Matrix<T>{data, 1, tensor.rows()} : Matrix<T>{data, tensor.columns(), 1};
}

template <typename T> T conjugate(const T &x) {
  if constexpr (isComplex<T>)
    return std::conj(x);
  else
    return x;
}

/// |re| + |im|, by which LAPACK compares pivots.
template <typename T> Real<T> sizeOf(const T &x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); }

/// P A = L U in place; 0, or the number of the first pivot that is zero.
template <typename T> int32_t factorLu(const Matrix<T> &a, int64_t m, int64_t n, int32_t *pivots) {
  int32_t info = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (sizeOf(a(i, k)) > sizeOf(a(pivot, k)))
        pivot = i;
    pivots[k] = static_cast<int32_t>(pivot + 1);
    if (a(pivot, k) == T(0)) {
      info = info ? info : static_cast<int32_t>(k + 1);
      continue; // the column is zero: there is nothing to take out
    }
    for (int64_t j = 0; pivot != k && j < n; ++j)
      std::swap(a(k, j), a(pivot, j));
    for (int64_t i = k + 1; i < m; ++i) {
      const T factor = a(i, k) / a(k, k);
      a(i, k) = factor;
      for (int64_t j = k + 1; j < n; ++j)
        a(i, j) -= factor * a(k, j);
    }
  }
  return info;
}

/// A = L L^H in the lower triangle; 0, or the order of the first leading part that is not positive definite.
template <typename T> int32_t factorCholesky(const Matrix<T> &a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    Real<T> left = std::real(a(j, j));
    for (int64_t k = 0; k < j; ++k)
      left -= std::norm(a(j, k));
    if (!(left > 0)) {
      a(j, j) = left;
      return static_cast<int32_t>(j + 1);
    }
    const Real<T> diagonal = std::sqrt(left);
    a(j, j) = diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a(i, j);
      for (int64_t k = 0; k < j; ++k)
        sum -= a(i, k) * conjugate(a(j, k));
      a(i, j) = sum / diagonal;
    }
  }
  return 0;
}

/// A triangle as it is read: transposed by its strides, and conjugated.
template <typename T> struct Triangle {
  Matrix<const T> a;
  bool isLower, isUnit, isConjugate;

  T operator()(int64_t i, int64_t j) const { return isConjugate ? conjugate(a(i, j)) : a(i, j); }
};

/// A X = B in place of B, of n rows and m columns.
template <typename T> void solveTriangle(const Triangle<T> &a, const Matrix<T> &x, int64_t n, int64_t m) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = a.isLower ? step : n - 1 - step;
    for (int64_t before = 0; before < step; ++before) {
      const int64_t k = a.isLower ? before : n - 1 - before;
      const T factor = a(i, k);
      for (int64_t j = 0; j < m; ++j)
        x(i, j) -= factor * x(k, j);
    }
    if (a.isUnit)
      continue;
    const T diagonal = a(i, i);
    for (int64_t j = 0; j < m; ++j)
      x(i, j) /= diagonal;
  }
}

} // namespace hlo::runtime::lapack
