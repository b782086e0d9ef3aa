// Placement of buffers in one arena: the two algorithms that are too slow in Python. No IR, no Python, no globals.
//
// A problem is a set of buffers; buffer i is live in [start[i], end[i]) and asks for an offset that is a multiple of
// alignment[i]. Two buffers whose live ranges intersect must not share a byte.
// Preconditions of all functions (passes/memory/packing checks them): equal lengths, start < end, size > 0,
// alignment > 0, and the sum of size + alignment over all buffers fits an int64.
// Ownership: everything is a value. Thread safety: functions share no state.
#pragma once

#include <cstdint>
#include <vector>

namespace hlo::packing {

struct Problem {
  std::vector<int64_t> start;
  std::vector<int64_t> end;
  std::vector<int64_t> size;
  std::vector<int64_t> alignment;

  int count() const { return static_cast<int>(size.size()); }
};

/// The least multiple of `alignment` that is not below `value`, for value >= 0.
inline int64_t alignUp(int64_t value, int64_t alignment) {
  const int64_t excess = value % alignment;
  return excess == 0 ? value : value + (alignment - excess);
}

enum class Fit {
  First, // the lowest gap that is large enough
  Best,  // the gap with the least room left over, the lowest of equals; on top of everything if none is large enough
};

/// Places buffers one after the other, in the given order, beside those already placed; returns the offset of each.
/// `order` is a permutation of 0 .. count - 1. Nothing is returned if that takes longer than `seconds`; 0 is no limit.
std::vector<int64_t> placeInOrder(const Problem &problem, const std::vector<int32_t> &order, Fit fit, double seconds);

/// Places buffers as an allocator would while the program runs: each when it starts, where others have ended, into the
/// smallest gap that is large enough. Takes n log n steps, where `placeInOrder` looks at each pair that is live
/// together. `byStart` is a permutation of 0 .. count - 1 in the order of the starts.
std::vector<int64_t> placeAsAllocated(const Problem &problem, const std::vector<int32_t> &byStart);

enum class Outcome {
  Placed,     // all buffers lie below the capacity
  Infeasible, // proof: no placement below the capacity exists
  Exhausted,  // neither, within the limits
};

struct SearchLimits {
  int64_t capacity = 0; // bytes
  int64_t steps = 0;    // elementary operations of a few nanoseconds: as the only limit, the same result everywhere
  double seconds = 0;   // wall time; 0 is no limit
  uint64_t seed = 0;    // of the restarts
};

struct SearchResult {
  Outcome outcome = Outcome::Exhausted;
  std::vector<int64_t> offsets; // if placed
  int64_t steps = 0;
  int64_t nodes = 0; // decisions, over all restarts
  int64_t restarts = 0;
};

/// Looks for a placement below the capacity: depth-first search with restarts (search.cpp).
SearchResult search(const Problem &problem, const SearchLimits &limits);

} // namespace hlo::packing
