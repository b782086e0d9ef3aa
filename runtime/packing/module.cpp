// The Python module `hlo_native._packing`: packing.h on NumPy arrays of int64. passes/memory/packing is its only user,
// and checks the preconditions.

#include "packing.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;
using namespace hlo::packing;

namespace {

template <typename T> using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T> std::vector<T> toVector(const Column<T> &column) {
  return {column.data(), column.data() + column.shape(0)};
}

nb::ndarray<nb::numpy, int64_t> toArray(std::vector<int64_t> values) {
  auto owned = std::make_unique<std::vector<int64_t>>(std::move(values));
  size_t shape[] = {owned->size()};
  int64_t *data = owned->data();
  nb::capsule owner(owned.release(), [](void *p) noexcept { delete static_cast<std::vector<int64_t> *>(p); });
  return {data, 1, shape, owner};
}

Problem makeProblem(const Column<int64_t> &start, const Column<int64_t> &end, const Column<int64_t> &size,
                    const Column<int64_t> &alignment) {
  const size_t count = size.shape(0);
  if (start.shape(0) != count || end.shape(0) != count || alignment.shape(0) != count)
    throw std::invalid_argument("start, end, size and alignment differ in length");
  Problem problem{toVector(start), toVector(end), toVector(size), toVector(alignment)};
  for (size_t i = 0; i < count; ++i)
    if (problem.start[i] >= problem.end[i] || problem.size[i] <= 0 || problem.alignment[i] <= 0)
      throw std::invalid_argument("expected start < end, size > 0 and alignment > 0");
  return problem;
}

std::vector<int32_t> toPermutation(const Column<int32_t> &order, size_t count) {
  std::vector<char> seen(count, 0);
  std::vector<int32_t> result = toVector(order);
  for (int32_t i : result) {
    if (i < 0 || static_cast<size_t>(i) >= count || seen[i])
      throw std::invalid_argument("order is not a permutation");
    seen[i] = 1;
  }
  if (result.size() != count)
    throw std::invalid_argument("order is not a permutation");
  return result;
}

} // namespace

NB_MODULE(_packing, module) {
  module.doc() = "Placement of buffers in one arena: greedy in a given order, and search below a capacity.";

  nb::enum_<Outcome>(module, "Outcome")
      .value("PLACED", Outcome::Placed)
      .value("INFEASIBLE", Outcome::Infeasible)
      .value("EXHAUSTED", Outcome::Exhausted);

  nb::class_<SearchResult>(module, "SearchResult")
      .def_ro("outcome", &SearchResult::outcome)
      .def_prop_ro(
          "offsets", [](const SearchResult &result) { return toArray(result.offsets); }, nb::rv_policy::move)
      .def_ro("steps", &SearchResult::steps)
      .def_ro("nodes", &SearchResult::nodes)
      .def_ro("restarts", &SearchResult::restarts);

  module.def(
      "place_in_order",
      [](Column<int64_t> start, Column<int64_t> end, Column<int64_t> size, Column<int64_t> alignment,
         Column<int32_t> order, bool bestFit, double seconds) {
        Problem problem = makeProblem(start, end, size, alignment);
        std::vector<int32_t> permutation = toPermutation(order, problem.count());
        std::vector<int64_t> offsets;
        {
          nb::gil_scoped_release released;
          offsets = placeInOrder(problem, permutation, bestFit ? Fit::Best : Fit::First, seconds);
        }
        return toArray(std::move(offsets));
      },
      nb::arg("start"), nb::arg("end"), nb::arg("size"), nb::arg("alignment"), nb::arg("order"), nb::kw_only(),
      nb::arg("best_fit"), nb::arg("seconds") = 0.0);

  module.def(
      "place_as_allocated",
      [](Column<int64_t> start, Column<int64_t> end, Column<int64_t> size, Column<int64_t> alignment,
         Column<int32_t> byStart) {
        Problem problem = makeProblem(start, end, size, alignment);
        std::vector<int32_t> permutation = toPermutation(byStart, problem.count());
        for (size_t k = 1; k < permutation.size(); ++k)
          if (problem.start[permutation[k - 1]] > problem.start[permutation[k]])
            throw std::invalid_argument("the order is not that of the starts");
        std::vector<int64_t> offsets;
        {
          nb::gil_scoped_release released;
          offsets = placeAsAllocated(problem, permutation);
        }
        return toArray(std::move(offsets));
      },
      nb::arg("start"), nb::arg("end"), nb::arg("size"), nb::arg("alignment"), nb::arg("by_start"));

  module.def(
      "search",
      [](Column<int64_t> start, Column<int64_t> end, Column<int64_t> size, Column<int64_t> alignment, int64_t capacity,
         int64_t steps, double seconds, uint64_t seed) {
        Problem problem = makeProblem(start, end, size, alignment);
        nb::gil_scoped_release released;
        return search(problem, {capacity, steps, seconds, seed});
      },
      nb::arg("start"), nb::arg("end"), nb::arg("size"), nb::arg("alignment"), nb::kw_only(), nb::arg("capacity"),
      nb::arg("steps"), nb::arg("seconds") = 0.0, nb::arg("seed") = 0);
}
