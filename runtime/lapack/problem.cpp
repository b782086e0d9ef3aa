#include "problem.h"

#include "../thread_pool.h"

#include <algorithm>
#include <climits>
#include <utility>

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

// Exchanges rows and columns of a square matrix, block by block for the same reason.
template <typename T> void transposeInPlace(T *matrix, int64_t n) {
  constexpr int64_t block = 16;
  for (int64_t i0 = 0; i0 < n; i0 += block)
    for (int64_t j0 = 0; j0 <= i0; j0 += block)
      for (int64_t i = i0; i < std::min(i0 + block, n); ++i)
        for (int64_t j = j0; j < std::min(j0 + block, i); ++j)
          std::swap(matrix[i * n + j], matrix[j * n + i]);
}

void solveItems(void **args, int64_t begin, int64_t end) {
  const Slots::Lease lease(*static_cast<Slots *>(args[1]));
  for (int64_t item = begin; item < end; ++item)
    static_cast<const Problem *>(args[0])->solve(item, lease.data());
}

int64_t grainOf(const Problem &problem) {
  constexpr double flopsPerPiece = 1e5, flopsOfCall = 100; // an item's call takes as long
  return std::max<int64_t>(1, static_cast<int64_t>(flopsPerPiece / (problem.flops + flopsOfCall)));
}

int64_t piecesOf(int threads, const Problem &problem) {
  return std::min<int64_t>(threads, (problem.batch + grainOf(problem) - 1) / grainOf(problem));
}

} // namespace

int64_t Tensor::batch(int coreRank) const {
  int64_t product = 1;
  for (int64_t i = 0; i + coreRank < rank; ++i)
    product *= dims[i];
  return product;
}

void Tensors::add(const Tensor &tensor) {
  if (count == most)
    throw Error(HLO_ERROR, "LAPACK: more operands or results than any routine has");
  items[count++] = tensor;
}

bool Tensors::haveCoreRanks(std::initializer_list<int> ranks) const {
  return count == ranks.size() &&
         std::equal(ranks.begin(), ranks.end(), items, [](int core, const Tensor &t) { return t.rank >= core; });
}

Call::Call(void *const *buffers, const int64_t *parameters) : columnMajor(parameters[0] != 0) {
  const int64_t operandCount = parameters[1], resultCount = parameters[2];
  const int64_t *next = parameters + 3;
  for (int64_t i = 0; i < operandCount + resultCount; ++i) {
    const int64_t rank = *next++;
    const Tensor tensor{buffers ? buffers[i] : nullptr, next, rank};
    next += rank;
    if (std::any_of(tensor.dims, next, [](int64_t d) { return d < 0 || d > INT_MAX; }))
      throw Error(HLO_ERROR, "LAPACK: a dimension is out of range");
    (i < operandCount ? operands : results).add(tensor);
  }
  attributes = next;
}

void Call::expect(std::initializer_list<int> operandRanks, std::initializer_list<int> resultRanks) const {
  if (!operands.haveCoreRanks(operandRanks) || !results.haveCoreRanks(resultRanks))
    throw Error(HLO_ERROR, "LAPACK: the number or rank of operands or results does not fit the routine");
}

template <typename T> void Call::move(const Tensor &tensor, const T *from, T *to, int64_t rows, int64_t columns) const {
  const bool isVector = tensor.rows() == 1 || tensor.columns() == 1;
  if (columnMajor || isVector) {
    if (from != to)
      std::copy_n(from, tensor.rows() * tensor.columns(), to);
  } else if (from == to) {
    transposeInPlace(to, rows);
  } else {
    transpose(from, to, rows, columns);
  }
}

template <typename T> void Call::load(const Tensor &tensor, int64_t item, T *to) const {
  move<T>(tensor, matrixOf<T>(tensor, item), to, tensor.rows(), tensor.columns());
}

template <typename T> void Call::store(const Tensor &tensor, int64_t item, T *from) const {
  move<T>(tensor, from, matrixOf<T>(tensor, item), tensor.columns(), tensor.rows());
}

#define HLO_INSTANTIATE(T)                                                                                             \
  template void Call::load<T>(const Tensor &, int64_t, T *) const;                                                     \
  template void Call::store<T>(const Tensor &, int64_t, T *) const;
HLO_INSTANTIATE(float)
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(std::complex<float>)
HLO_INSTANTIATE(std::complex<double>)
#undef HLO_INSTANTIATE

int64_t scratchBytes(int threads, const Problem &problem) {
  Carver counting;
  const Slots slots(counting, problem.workBytes(), piecesOf(threads, problem));
  return counting.bytes();
}

void solveBatch(int threads, const Problem &problem, void *scratch, int64_t bytes) {
  const Workspace workspace(scratch, bytes, scratchBytes(threads, problem));
  Carver carver(workspace.data());
  Slots slots(carver, problem.workBytes(), piecesOf(threads, problem));
  void *args[] = {const_cast<Problem *>(&problem), &slots};
  parallelFor(slots.count, solveItems, args, problem.batch, grainOf(problem));
}

} // namespace hlo::runtime::lapack
