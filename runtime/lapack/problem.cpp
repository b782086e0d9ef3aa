#include "problem.h"

#include "../runtime.h"
#include "../thread_pool.h"

#include <algorithm>
#include <climits>

namespace hlo::runtime::lapack {
namespace {

// Walks both sides in blocks, so that each cache line is used while it is there.
template <typename T> void transpose(const T *from, T *to, int64_t rows, int64_t columns) {
  constexpr int64_t block = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += block)
    for (int64_t j0 = 0; j0 < columns; j0 += block)
      for (int64_t i = i0; i < std::min(i0 + block, rows); ++i)
        for (int64_t j = j0; j < std::min(j0 + block, columns); ++j)
          to[j * rows + i] = from[i * columns + j];
}

struct Work {
  const HloRuntime *runtime;
  const Problem *problem;
};

void solveItems(void **args, int64_t begin, int64_t end) {
  const Work &work = *static_cast<const Work *>(args[0]);
  try {
    for (int64_t item = begin; item < end; ++item) {
      Scratch scratch;
      work.problem->solve(item, scratch);
    }
  } catch (const std::bad_alloc &) {
    hlo_rt_set_error(work.runtime, "LAPACK: out of memory");
  }
}

} // namespace

int64_t Tensor::size() const {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

int64_t Tensor::batch(int coreRank) const {
  int64_t product = 1;
  for (size_t i = 0; i + static_cast<size_t>(coreRank) < dims.size(); ++i)
    product *= dims[i];
  return product;
}

Call::Call(void *const *buffers, const int64_t *parameters) : columnMajor(parameters[0] != 0) {
  const int64_t operandCount = parameters[1], resultCount = parameters[2];
  const int64_t *next = parameters + 3;
  for (int64_t i = 0; i < operandCount + resultCount; ++i) {
    const int64_t rank = *next++;
    Tensor tensor{buffers[i], std::vector<int64_t>(next, next + rank)};
    next += rank;
    if (std::any_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t d) { return d < 0 || d > INT_MAX; }))
      throw Error(HLO_ERROR, "LAPACK: a dimension is out of range");
    (i < operandCount ? operands : results).push_back(std::move(tensor));
  }
  attributes = next;
}

void Call::expect(const std::vector<int> &operandRanks, const std::vector<int> &resultRanks) const {
  const auto fits = [](const std::vector<Tensor> &tensors, const std::vector<int> &ranks) {
    if (tensors.size() != ranks.size())
      return false;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (tensors[i].dims.size() < static_cast<size_t>(ranks[i]))
        return false;
    return true;
  };
  if (!fits(operands, operandRanks) || !fits(results, resultRanks))
    throw Error(HLO_ERROR, "LAPACK: the number or rank of operands or results does not fit the routine");
}

template <typename T> void Call::load(const Tensor &tensor, int64_t item, T *to) const {
  const T *from = matrixOf<T>(tensor, item);
  if (columnMajor)
    std::copy_n(from, tensor.rows() * tensor.columns(), to);
  else
    transpose(from, to, tensor.rows(), tensor.columns());
}

template <typename T> void Call::store(const Tensor &tensor, int64_t item, const T *from) const {
  T *to = matrixOf<T>(tensor, item);
  if (columnMajor)
    std::copy_n(from, tensor.rows() * tensor.columns(), to);
  else
    transpose(from, to, tensor.columns(), tensor.rows());
}

#define HLO_INSTANTIATE(T)                                                                                             \
  template void Call::load<T>(const Tensor &, int64_t, T *) const;                                                     \
  template void Call::store<T>(const Tensor &, int64_t, const T *) const;
HLO_INSTANTIATE(float)
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(std::complex<float>)
HLO_INSTANTIATE(std::complex<double>)
#undef HLO_INSTANTIATE

int32_t solveBatch(const HloRuntime *runtime, const Problem &problem) {
  constexpr double flopsPerPiece = 1e5;
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(flopsPerPiece / std::max(problem.flops, 1.0)));
  Work work{runtime, &problem};
  void *args[] = {&work};
  parallelFor(runtime->threads, solveItems, args, problem.batch, grain);
  return runtime->failed ? HLO_ERROR_OUT_OF_MEMORY : HLO_OK;
}

} // namespace hlo::runtime::lapack
