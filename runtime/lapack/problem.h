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
#include <stdexcept>
#include <string>
#include <vector>

namespace hlo::runtime::lapack {

class Error : public std::runtime_error {
public:
  Error(int32_t code, const std::string &message) : std::runtime_error(message), code(code) {}
  const int32_t code;
};

struct Tensor {
  void *data;
  std::vector<int64_t> dims;

  int64_t size() const;
  /// Product of all but the last `coreRank` dimensions.
  int64_t batch(int coreRank) const;
  int64_t rows() const { return dims[dims.size() - 2]; }
  int64_t columns() const { return dims.back(); }
};

/// The operands, results and attributes of one call.
class Call {
public:
  Call(void *const *buffers, const int64_t *parameters);

  std::vector<Tensor> operands, results;
  const int64_t *attributes;
  bool columnMajor;

  /// Throws Error unless there are these many operands and results, of at least these core ranks.
  void expect(const std::vector<int> &operandRanks, const std::vector<int> &resultRanks) const;

  template <typename T> T *operandVector(size_t index, int64_t item) const {
    return vectorOf<T>(operands[index], item);
  }
  template <typename T> T *resultVector(size_t index, int64_t item) const { return vectorOf<T>(results[index], item); }
  int32_t &info(size_t index, int64_t item) const { return static_cast<int32_t *>(results[index].data)[item]; }

  /// Memory of one matrix as it lies in the tensor.
  template <typename T> T *matrixOf(const Tensor &tensor, int64_t item) const {
    return static_cast<T *>(tensor.data) + item * tensor.rows() * tensor.columns();
  }

  /// Copies one matrix to or from column-major memory.
  template <typename T> void load(const Tensor &tensor, int64_t item, T *to) const;
  template <typename T> void store(const Tensor &tensor, int64_t item, const T *from) const;

private:
  template <typename T> static T *vectorOf(const Tensor &tensor, int64_t item) {
    return static_cast<T *>(tensor.data) + item * tensor.columns();
  }
};

/// One routine applied to each item of a batch.
class Problem {
public:
  virtual ~Problem() = default;
  virtual void solve(int64_t item, Scratch &scratch) const = 0;

  int64_t batch = 0;
  double flops = 0; // of one item, roughly: decides the split
};

/// Solves every item; the items' routines must not throw anything but std::bad_alloc.
int32_t solveBatch(const HloRuntime *runtime, const Problem &problem);

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
