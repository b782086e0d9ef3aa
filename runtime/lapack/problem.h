// A batched LAPACK call as generated code describes it, and the loop over its batch.
//
// Ownership: nothing here owns the tensors. Thread safety: one problem is solved by one caller; `Problem::solve` is
// called for distinct items on several threads and only writes those items' results.
#pragma once

#include "../blas.h"
#include "../kernel_abi.h"
#include "../scratch.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace hlo::runtime::lapack {

class Error : public std::runtime_error {
public:
  Error(int32_t code, const std::string &message) : std::runtime_error(message), code(code) {}
  const int32_t code;
};

struct Tensor {
  void *data;
  const int64_t *dims; // among the call's parameters
  int64_t rank;

  int64_t size() const { return batch(0); }
  /// Product of all but the last `coreRank` dimensions.
  int64_t batch(int coreRank) const;
  int64_t rows() const { return dims[rank - 2]; }
  int64_t columns() const { return dims[rank - 1]; }
};

/// The operands or the results of a call.
class Tensors {
public:
  static constexpr size_t most = 8;

  void add(const Tensor &tensor);
  const Tensor &operator[](size_t index) const { return items[index]; }
  bool haveCoreRanks(std::initializer_list<int> ranks) const;

private:
  Tensor items[most];
  size_t count = 0;
};

/// The operands, results and attributes of one call.
class Call {
public:
  /// Without buffers, one to ask sizes of.
  Call(void *const *buffers, const int64_t *parameters);

  Tensors operands, results;
  const int64_t *attributes;
  bool columnMajor;

  /// Throws Error unless there are these many operands and results, of at least these core ranks.
  void expect(std::initializer_list<int> operandRanks, std::initializer_list<int> resultRanks) const;

  template <typename T> T *operandVector(size_t index, int64_t item) const {
    return vectorOf<T>(operands[index], item);
  }
  template <typename T> T *resultVector(size_t index, int64_t item) const { return vectorOf<T>(results[index], item); }
  int32_t &info(size_t index, int64_t item) const { return static_cast<int32_t *>(results[index].data)[item]; }

  /// Memory of one matrix as it lies in the tensor.
  template <typename T> T *matrixOf(const Tensor &tensor, int64_t item) const {
    return static_cast<T *>(tensor.data) + item * tensor.rows() * tensor.columns();
  }

  /// Copies one matrix to column-major memory, which may be that of its own if it is square or a vector.
  template <typename T> void load(const Tensor &tensor, int64_t item, T *to) const;
  /// Copies one matrix from column-major memory, which may be that of its own if it is square or a vector.
  template <typename T> void store(const Tensor &tensor, int64_t item, T *from) const;

  /// Column-major memory in which a routine makes a matrix of a result, if that cannot be the result's own; `memoryFor`
  /// tells which it is.
  template <typename T> T *spareFor(const Tensor &result, Carver &carver) const {
    return carver.take<T>(isMadeInPlace(result) ? 0 : result.rows() * result.columns());
  }
  template <typename T> T *memoryFor(const Tensor &result, int64_t item, T *spare) const {
    return isMadeInPlace(result) ? matrixOf<T>(result, item) : spare;
  }

private:
  bool isMadeInPlace(const Tensor &t) const {
    return columnMajor || t.rows() == t.columns() || t.rows() == 1 || t.columns() == 1;
  }
  template <typename T> static T *vectorOf(const Tensor &tensor, int64_t item) {
    return static_cast<T *>(tensor.data) + item * tensor.columns();
  }
  /// One matrix of a tensor between its memory and a column-major one: `rows` x `columns` as it lies in `from`.
  template <typename T> void move(const Tensor &tensor, const T *from, T *to, int64_t rows, int64_t columns) const;
};

/// One routine applied to each item of a batch.
class Problem {
public:
  virtual ~Problem() = default;
  /// Bytes that `solve` works in.
  virtual int64_t workBytes() const = 0;
  virtual void solve(int64_t item, char *memory) const = 0;

  int64_t batch = 0;
  double flops = 0; // of one item, roughly: decides the split
};

/// A problem whose arrays to work in are a struct `Derived::Work`, laid out by `Derived::carve`.
template <typename Derived> class PlannedProblem : public Problem {
public:
  int64_t workBytes() const override {
    Carver counting;
    derived().carve(counting);
    return counting.bytes();
  }
  void solve(int64_t item, char *memory) const override {
    Carver carver(memory);
    derived().solve(item, derived().carve(carver));
  }

private:
  const Derived &derived() const { return static_cast<const Derived &>(*this); }
};

/// Bytes that `solveBatch` works in.
int64_t scratchBytes(int threads, const Problem &problem);

/// Solves every item in the memory given; throws std::bad_alloc.
void solveBatch(int threads, const Problem &problem, void *scratch, int64_t bytes);

// ---- Calling Fortran -----------------------------------------------------------------------------------------------

template <typename T> struct RealOf {
  using type = T;
};
template <typename T> struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T> using Real = typename RealOf<T>::type;
template <typename T> constexpr bool isComplex = !std::is_same_v<T, Real<T>>;
template <typename T>
constexpr char letter = isComplex<T> ? (sizeof(Real<T>) == 4 ? 'c' : 'z') : (sizeof(T) == 4 ? 's' : 'd');

/// A LAPACK routine of element type T, by its name without the letter; throws Error when it is not there.
template <typename T> class Routine {
public:
  explicit Routine(const std::string &name) : address(blasSymbol((letter<T> + name + "_").c_str())) {
    if (!address)
      throw Error(HLO_ERROR_NO_LIBRARY, "no LAPACK routine " + (letter<T> + name) + ": " + blasError());
  }

  /// All arguments go by address. Fortran passes the lengths of strings behind them; ours are single letters, and
  /// lengths too many do no harm.
  template <typename... Arguments> void operator()(Arguments *...arguments) const {
    using Function = void (*)(Arguments *..., size_t, size_t, size_t, size_t);
    reinterpret_cast<Function>(address)(arguments..., 1, 1, 1, 1);
  }

private:
  void *address;
};

/// Fortran's size, from a dimension that was checked to fit.
inline int fortran(int64_t size) { return static_cast<int>(size); }
inline int leading(int64_t rows) { return static_cast<int>(rows > 0 ? rows : 1); }

/// The length a workspace query left in its first element.
template <typename T> int64_t queried(const T &work) {
  const double length = static_cast<double>(std::real(work));
  return length > 1 ? static_cast<int64_t>(length * (1 + 1e-6)) : 1; // single precision may have rounded it down
}

} // namespace hlo::runtime::lapack
