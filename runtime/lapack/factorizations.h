// Triangular solves, Cholesky, LU, QR and tridiagonal solves.
#pragma once

#include "problem.h"
#include "small.h"

#include <cmath>
#include <limits>

namespace hlo::runtime::lapack {

inline double cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

inline char otherTriangle(char uplo) { return uplo == 'L' ? 'U' : 'L'; }

/// op(A) X = B or X op(A) = B.
template <typename T> class TriangularSolve : public PlannedProblem<TriangularSolve<T>> {
public:
  using PlannedProblem<TriangularSolve<T>>::batch, PlannedProblem<TriangularSolve<T>>::flops,
      PlannedProblem<TriangularSolve<T>>::solve;

  explicit TriangularSolve(const Call &call) : call(call), routine("trsm") {
    call.expect({2, 2}, {2});
    diag = static_cast<char>(call.attributes[0]);
    side = static_cast<char>(call.attributes[1]);
    trans = static_cast<char>(call.attributes[2]);
    uplo = static_cast<char>(call.attributes[3]);
    order = fortran(call.operands[0].rows());
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    rightSides = side == 'L' ? n : m;
    flops = static_cast<double>(m) * n * order;
    if (!isSmall() && flops >= leastFlopsToCut)
      parts = std::max(1, rightSides / rightSidesOfPart);
    flops /= parts;
    batch = call.results[0].size() == 0 ? 0 : call.results[0].batch(2) * parts;
  }

  struct Work {};
  Work carve(Carver &) const { return {}; }

  // Row-major tensors are their transposes to the routine: op(A) X = B is X' op(A)' = B', op(A)' being op of A'.
  void solve(int64_t item, const Work &) const {
    const int64_t matrix = item / parts, part = item % parts;
    const T *a = call.matrixOf<T>(call.operands[0], matrix), *from = call.matrixOf<T>(call.operands[1], matrix);
    T *b = call.matrixOf<T>(call.results[0], matrix);
    int rows = call.columnMajor ? m : n, columns = call.columnMajor ? n : m;
    const int lda = leading(order), ldb = leading(rows);
    const char sideSeen = call.columnMajor ? side : side == 'L' ? 'R' : 'L';
    const auto first = static_cast<int>(part * rightSides / parts);
    const auto end = static_cast<int>((part + 1) * rightSides / parts);
    (sideSeen == 'L' ? columns : rows) = end - first;
    const int64_t offset = sideSeen == 'L' ? static_cast<int64_t>(first) * ldb : first;
    if (from != b)
      for (int64_t column = 0; column < columns; ++column)
        std::copy_n(from + offset + column * ldb, rows, b + offset + column * ldb);
    if (isSmall())
      return solveSmall(a, b);
    const T one(1);
    const char uploSeen = call.columnMajor ? uplo : otherTriangle(uplo);
    routine(&sideSeen, &uploSeen, &trans, &diag, &rows, &columns, &one, a, &lda, b + offset, &ldb);
  }

private:
  // Right-hand sides are solved apart from each other: those of large problems on several threads, in parts that do
  // not depend on how many there are. A part packs all of the triangle, which is little beside its products.
  static constexpr double leastFlopsToCut = 4e6;
  static constexpr int rightSidesOfPart = 64;

  bool isSmall() const { return order <= mostSmallSolve && rightSides <= mostSmallSolve; }

  // X op(A) = B is op(A)' X' = B'.
  void solveSmall(const T *a, T *b) const {
    const auto [data, rowStride, columnStride] = matrixIn(call, call.operands[0], const_cast<T *>(a));
    const Matrix<const T> matrix{data, rowStride, columnStride};
    const auto x = matrixIn(call, call.results[0], b);
    const bool isLeft = side == 'L', isTransposed = (trans != 'N') == isLeft;
    const Triangle<T> triangle{isTransposed ? matrix.transposed() : matrix, (uplo == 'L') != isTransposed, diag == 'U',
                               trans == 'C'};
    solveTriangle(triangle, isLeft ? x : x.transposed(), order, rightSides);
  }

  const Call &call;
  const Routine<T> routine;
  char diag, side, trans, uplo;
  int order, m, n, rightSides, parts = 1;
};

template <typename T> class Cholesky : public PlannedProblem<Cholesky<T>> {
public:
  using PlannedProblem<Cholesky<T>>::batch, PlannedProblem<Cholesky<T>>::flops, PlannedProblem<Cholesky<T>>::solve;

  explicit Cholesky(const Call &call) : call(call), routine("potrf") {
    call.expect({2}, {2, 0});
    uplo = static_cast<char>(call.attributes[0]);
    n = fortran(call.results[0].rows());
    batch = call.results[0].batch(2);
    flops = cube(n) / 3;
  }

  struct Work {};
  Work carve(Carver &) const { return {}; }

  // A row-major tensor is its transpose to the routine: with A = L L^H, its factor is L' in the other triangle.
  void solve(int64_t item, const Work &) const {
    const T *from = call.matrixOf<T>(call.operands[0], item);
    T *a = call.matrixOf<T>(call.results[0], item);
    if (from != a)
      std::copy_n(from, static_cast<int64_t>(n) * n, a);
    if (n <= mostSmall) {
      const auto matrix = matrixIn(call, call.results[0], a);
      call.info(1, item) = factorCholesky(uplo == 'L' ? matrix : matrix.transposed(), n);
      return;
    }
    const char uploSeen = call.columnMajor ? uplo : otherTriangle(uplo);
    const int lda = leading(n);
    routine(&uploSeen, &n, a, &lda, &call.info(1, item));
  }

private:
  const Call &call;
  const Routine<T> routine;
  char uplo;
  int n;
};

template <typename T> class Lu : public PlannedProblem<Lu<T>> {
public:
  using PlannedProblem<Lu<T>>::batch, PlannedProblem<Lu<T>>::flops, PlannedProblem<Lu<T>>::solve;

  explicit Lu(const Call &call) : call(call), routine("getrf") {
    call.expect({2}, {2, 1, 0});
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    batch = call.results[0].batch(2);
    flops = cube(std::max(m, n));
  }

  struct Work {
    T *spare;
  };
  Work carve(Carver &carver) const { return {call.spareFor<T>(call.results[0], carver)}; }

  void solve(int64_t item, const Work &work) const {
    auto *pivots = call.resultVector<int32_t>(1, item);
    if (std::max(m, n) <= mostSmall) {
      const T *from = call.matrixOf<T>(call.operands[0], item);
      T *to = call.matrixOf<T>(call.results[0], item);
      if (from != to)
        std::copy_n(from, static_cast<int64_t>(m) * n, to);
      call.info(2, item) = factorLu(matrixIn(call, call.results[0], to), m, n, pivots);
      return;
    }
    T *a = call.memoryFor(call.results[0], item, work.spare);
    call.load(call.operands[0], item, a);
    const int lda = leading(m);
    routine(&m, &n, a, &lda, pivots, &call.info(2, item));
    call.store(call.results[0], item, a);
  }

private:
  const Call &call;
  const Routine<T> routine;
  int m, n;
};

template <typename T> class Qr : public PlannedProblem<Qr<T>> {
public:
  using PlannedProblem<Qr<T>>::batch, PlannedProblem<Qr<T>>::flops, PlannedProblem<Qr<T>>::solve;

  explicit Qr(const Call &call) : call(call), routine("geqrf") {
    call.expect({2}, {2, 1});
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    batch = call.results[0].batch(2);
    flops = 2 * cube(std::max(m, n));
    T size(1);
    int info = 0;
    const int query = -1, lda = leading(m);
    routine(&m, &n, static_cast<T *>(nullptr), &lda, static_cast<T *>(nullptr), &size, &query, &info);
    workSize = queried(size);
  }

  struct Work {
    T *spare, *work;
  };
  Work carve(Carver &carver) const { return {call.spareFor<T>(call.results[0], carver), carver.take<T>(workSize)}; }

  void solve(int64_t item, const Work &work) const {
    T *a = call.memoryFor(call.results[0], item, work.spare);
    call.load(call.operands[0], item, a);
    int info = 0;
    const int lda = leading(m), length = fortran(workSize);
    routine(&m, &n, a, &lda, call.resultVector<T>(1, item), work.work, &length, &info);
    call.store(call.results[0], item, a);
  }

private:
  const Call &call;
  const Routine<T> routine;
  int m, n;
  int64_t workSize;
};

/// QR with column pivoting; the second operand says which columns are fixed in front.
template <typename T> class PivotedQr : public PlannedProblem<PivotedQr<T>> {
public:
  using PlannedProblem<PivotedQr<T>>::batch, PlannedProblem<PivotedQr<T>>::flops, PlannedProblem<PivotedQr<T>>::solve;

  explicit PivotedQr(const Call &call) : call(call), routine("geqp3") {
    call.expect({2, 1}, {2, 1, 1});
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    batch = call.results[0].batch(2);
    flops = 4 * cube(std::max(m, n));
    T size(1);
    run(nullptr, nullptr, nullptr, &size, -1, nullptr);
    workSize = queried(size);
  }

  struct Work {
    T *spare, *work;
    Real<T> *real;
  };
  Work carve(Carver &carver) const {
    return {call.spareFor<T>(call.results[0], carver), carver.take<T>(workSize),
            carver.take<Real<T>>(isComplex<T> ? 2 * static_cast<int64_t>(n) : 0)};
  }

  void solve(int64_t item, const Work &work) const {
    T *a = call.memoryFor(call.results[0], item, work.spare);
    call.load(call.operands[0], item, a);
    auto *pivots = call.resultVector<int32_t>(1, item);
    const auto *fixed = call.operandVector<int32_t>(1, item);
    if (fixed != pivots)
      std::copy_n(fixed, n, pivots);
    run(a, pivots, call.resultVector<T>(2, item), work.work, fortran(workSize), work.real);
    call.store(call.results[0], item, a);
  }

private:
  void run(T *a, int32_t *pivots, T *tau, T *work, int length, Real<T> *real) const {
    int info = 0;
    const int lda = leading(m);
    if constexpr (isComplex<T>)
      routine(&m, &n, a, &lda, pivots, tau, work, &length, real, &info);
    else
      routine(&m, &n, a, &lda, pivots, tau, work, &length, &info);
  }

  const Call &call;
  const Routine<T> routine;
  int m, n;
  int64_t workSize;
};

/// The orthogonal factor from its reflectors.
template <typename T> class HouseholderProduct : public PlannedProblem<HouseholderProduct<T>> {
public:
  using PlannedProblem<HouseholderProduct<T>>::batch, PlannedProblem<HouseholderProduct<T>>::flops,
      PlannedProblem<HouseholderProduct<T>>::solve;

  explicit HouseholderProduct(const Call &call) : call(call), routine(isComplex<T> ? "ungqr" : "orgqr") {
    call.expect({2, 1}, {2});
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    k = fortran(call.operands[1].columns());
    if (n > m || k > n)
      throw Error(HLO_ERROR, "LAPACK: a product of reflectors needs rows >= columns >= reflectors");
    batch = call.results[0].batch(2);
    flops = 4 * cube(m);
    T size(1);
    int info = 0;
    const int query = -1, lda = leading(m);
    routine(&m, &n, &k, static_cast<T *>(nullptr), &lda, static_cast<T *>(nullptr), &size, &query, &info);
    workSize = queried(size);
  }

  struct Work {
    T *spare, *work;
  };
  Work carve(Carver &carver) const { return {call.spareFor<T>(call.results[0], carver), carver.take<T>(workSize)}; }

  void solve(int64_t item, const Work &work) const {
    T *a = call.memoryFor(call.results[0], item, work.spare);
    call.load(call.operands[0], item, a);
    int info = 0;
    const int lda = leading(m), length = fortran(workSize);
    routine(&m, &n, &k, a, &lda, call.operandVector<T>(1, item), work.work, &length, &info);
    call.store(call.results[0], item, a);
  }

private:
  const Call &call;
  const Routine<T> routine;
  int m, n, k;
  int64_t workSize;
};

/// A matrix times the orthogonal factor that reflectors describe.
template <typename T> class HouseholderMultiply : public PlannedProblem<HouseholderMultiply<T>> {
public:
  using PlannedProblem<HouseholderMultiply<T>>::batch, PlannedProblem<HouseholderMultiply<T>>::flops,
      PlannedProblem<HouseholderMultiply<T>>::solve;

  explicit HouseholderMultiply(const Call &call) : call(call), routine(isComplex<T> ? "unmqr" : "ormqr") {
    call.expect({2, 1, 2}, {2});
    side = call.attributes[0] ? 'L' : 'R';
    trans = call.attributes[1] ? (isComplex<T> ? 'C' : 'T') : 'N';
    rows = fortran(call.operands[0].rows());
    m = fortran(call.results[0].rows());
    n = fortran(call.results[0].columns());
    k = fortran(call.operands[1].columns());
    if (rows != (side == 'L' ? m : n) || k > rows || k > call.operands[0].columns())
      throw Error(HLO_ERROR, "LAPACK: the reflectors do not fit the matrix they multiply");
    batch = call.results[0].batch(2);
    flops = 4 * cube(std::max(m, n));
    T size(1);
    run(nullptr, nullptr, nullptr, &size, -1);
    workSize = queried(size);
  }

  struct Work {
    T *reflectors, *spare, *work;
  };
  Work carve(Carver &carver) const {
    return {carver.take<T>(call.operands[0].rows() * call.operands[0].columns()),
            call.spareFor<T>(call.results[0], carver), carver.take<T>(workSize)};
  }

  void solve(int64_t item, const Work &work) const {
    T *a = work.reflectors, *c = call.memoryFor(call.results[0], item, work.spare);
    call.load(call.operands[0], item, a);
    call.load(call.operands[2], item, c);
    run(a, call.operandVector<T>(1, item), c, work.work, fortran(workSize));
    call.store(call.results[0], item, c);
  }

private:
  void run(T *a, T *tau, T *c, T *work, int length) const {
    int info = 0;
    const int lda = leading(rows), ldc = leading(m);
    routine(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &length, &info);
  }

  const Call &call;
  const Routine<T> routine;
  char side, trans;
  int rows, m, n, k;
  int64_t workSize;
};

/// A tridiagonal system; the lower diagonal's first element and the upper's last are not part of it.
template <typename T> class TridiagonalSolve : public PlannedProblem<TridiagonalSolve<T>> {
public:
  using PlannedProblem<TridiagonalSolve<T>>::batch, PlannedProblem<TridiagonalSolve<T>>::flops,
      PlannedProblem<TridiagonalSolve<T>>::solve;

  explicit TridiagonalSolve(const Call &call) : call(call), routine("gtsv") {
    call.expect({1, 1, 1, 2}, {1, 1, 1, 2, 0});
    n = fortran(call.results[3].rows());
    columns = fortran(call.results[3].columns());
    batch = call.results[3].batch(2);
    flops = 10.0 * n * columns;
  }

  struct Work {
    T *spare;
  };
  Work carve(Carver &carver) const { return {call.spareFor<T>(call.results[3], carver)}; }

  void solve(int64_t item, const Work &work) const {
    T *diagonals[3];
    for (size_t i = 0; i < 3; ++i) {
      diagonals[i] = call.resultVector<T>(i, item);
      const T *from = call.operandVector<T>(i, item);
      if (from != diagonals[i])
        std::copy_n(from, n, diagonals[i]);
    }
    T *b = call.memoryFor(call.results[3], item, work.spare);
    call.load(call.operands[3], item, b);
    const int ldb = leading(n);
    routine(&n, &columns, diagonals[0] + 1, diagonals[1], diagonals[2], b, &ldb, &call.info(4, item));
    call.store(call.results[3], item, b);
  }

private:
  const Call &call;
  const Routine<T> routine;
  int n, columns;
};

/// The same for a matrix that may be singular, as LAPACK's lagtf and lagts do it: rows are exchanged by their scaled
/// pivots, and a pivot by which a right-hand side cannot be divided is moved away from zero, by
/// eps * max |U| first and twice as far each time.
template <typename T> class PerturbedTridiagonalSolve : public PlannedProblem<PerturbedTridiagonalSolve<T>> {
public:
  using PlannedProblem<PerturbedTridiagonalSolve<T>>::batch, PlannedProblem<PerturbedTridiagonalSolve<T>>::flops,
      PlannedProblem<PerturbedTridiagonalSolve<T>>::solve;

  explicit PerturbedTridiagonalSolve(const Call &call) : call(call) {
    call.expect({1, 1, 1, 2}, {2});
    n = call.results[0].rows();
    columns = call.results[0].columns();
    batch = call.results[0].size() == 0 ? 0 : call.results[0].batch(2);
    flops = 10.0 * static_cast<double>(n) * static_cast<double>(columns);
    rowStride = call.columnMajor ? 1 : columns;
    columnStride = call.columnMajor ? n : 1;
  }

  // The factor U.
  struct Work {
    T *diagonal, *upper, *second;
  };
  Work carve(Carver &carver) const {
    T *diagonal = carver.take<T>(n), *upper = carver.take<T>(n);
    return {diagonal, upper, carver.take<T>(n)};
  }

  void solve(int64_t item, const Work &u) const {
    const T *from = call.matrixOf<T>(call.operands[3], item);
    T *x = call.matrixOf<T>(call.results[0], item);
    if (from != x)
      std::copy_n(from, n * columns, x);
    substitute(u, eliminate(item, x, u) * std::numeric_limits<Real<T>>::epsilon(), x);
  }

private:
  // Makes U, and of x the right-hand side of U's system; max |U| but for its last row but one, as jaxlib counts it.
  Real<T> eliminate(int64_t item, T *x, const Work &u) const {
    const T *lower = call.operandVector<T>(0, item), *middle = call.operandVector<T>(1, item);
    const T *right = call.operandVector<T>(2, item);
    u.diagonal[0] = middle[0];
    u.upper[0] = n > 1 ? right[0] : T(0);
    Real<T> scale = std::abs(u.diagonal[0]) + std::abs(u.upper[0]);
    Real<T> largest = std::max(std::abs(u.diagonal[0]), std::abs(u.upper[0]));
    for (int64_t k = 0; k + 1 < n; ++k) {
      const bool last = k + 2 == n;
      scale = eliminateBelow(k, lower[k + 1], middle[k + 1], last ? T(0) : right[k + 1], scale, x, u);
      for (const T *diagonal : {u.diagonal, u.upper, u.second})
        largest = last ? largest : std::max(largest, std::abs(diagonal[k]));
    }
    return std::max(largest, std::abs(u.diagonal[n - 1]));
  }

  // Takes the element under row k's pivot out of the row below, whose elements are given; the scale of what that
  // leaves.
  Real<T> eliminateBelow(int64_t k, T below, T middle, T right, Real<T> scale, T *x, const Work &u) const {
    const Real<T> scaleBelow = std::abs(below) + std::abs(middle) + std::abs(right);
    u.second[k] = T(0);
    u.diagonal[k + 1] = middle;
    u.upper[k + 1] = right;
    if (below == T(0))
      return scaleBelow;
    T *row = x + k * rowStride, *next = row + rowStride;
    const T pivot = u.diagonal[k];
    const Real<T> weight = pivot == T(0) ? 0 : std::abs(pivot) / scale;
    if (std::abs(below) / scaleBelow <= weight) {
      const T factor = below / pivot;
      u.diagonal[k + 1] -= factor * u.upper[k];
      for (int64_t j = 0; j < columns; ++j)
        next[j * columnStride] -= factor * row[j * columnStride];
      return scaleBelow;
    }
    const T factor = pivot / below;
    u.diagonal[k] = below;
    u.diagonal[k + 1] = u.upper[k] - factor * middle;
    u.upper[k] = middle;
    u.upper[k + 1] = -factor * right;
    u.second[k] = right;
    for (int64_t j = 0; j < columns; ++j) {
      T &upper = row[j * columnStride], &under = next[j * columnStride];
      const T left = upper - factor * under;
      upper = under;
      under = left;
    }
    return std::abs(u.diagonal[k + 1]) + std::abs(u.upper[k + 1]);
  }

  // Solves U's system in x.
  void substitute(const Work &u, Real<T> step, T *x) const {
    for (int64_t k = n - 1; k >= 0; --k) {
      T *row = x + k * rowStride;
      for (int64_t j = 0; j < columns && k + 1 < n; ++j)
        row[j * columnStride] -= u.upper[k] * row[rowStride + j * columnStride];
      for (int64_t j = 0; j < columns && k + 2 < n; ++j)
        row[j * columnStride] -= u.second[k] * row[2 * rowStride + j * columnStride];
      const T inverse = T(1) / settled(u.diagonal[k], step, row);
      for (int64_t j = 0; j < columns; ++j)
        row[j * columnStride] *= inverse;
    }
  }

  // A pivot by which a row can be divided; one that is tiny as the row is too is scaled with the row.
  T settled(T pivot, Real<T> step, T *row) const {
    constexpr Real<T> least = std::numeric_limits<Real<T>>::min(), most = 1 / least;
    Real<T> largest = 0;
    for (int64_t j = 0; j < columns; ++j)
      largest = std::max(largest, std::abs(row[j * columnStride]));
    step = std::copysign(std::max(step, least), std::real(pivot));
    for (Real<T> size = std::abs(pivot); size < 1; size = std::abs(pivot)) {
      if (size >= least && !(largest > size * most))
        return pivot;
      if (size > 0 && size < least && !(largest * least > size)) {
        for (int64_t j = 0; j < columns; ++j)
          row[j * columnStride] *= most;
        return pivot * most;
      }
      pivot += step;
      step *= 2;
    }
    return pivot;
  }

  const Call &call;
  int64_t n, columns, rowStride, columnStride;
};

} // namespace hlo::runtime::lapack
