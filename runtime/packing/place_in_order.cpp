// Greedy placement in a given order.
//
// Each buffer is put into a gap between the buffers that are already placed and live at the same time. To visit those
// in the order of their offsets without sorting, placed buffers are kept in a dyadic index over time: a node stands for
// a range of time, halved from level to level, and lists, by offset, all placed buffers that are live somewhere in it.
// A buffer is placed by one pass over the list of the smallest node that contains its live range.

#include "packing.h"

#include <algorithm>

namespace hlo::packing {
namespace {

struct PlacedBuffer {
  int64_t offset;
  int64_t top;
  int64_t start;
  int64_t end;
};

/// Heap-numbered: node 1 is all of time, the children of node k are 2k and 2k + 1.
class TimeIndex {
public:
  explicit TimeIndex(const Problem &problem) {
    times.reserve(problem.start.size());
    for (int64_t start : problem.start)
      times.push_back(start);
    std::sort(times.begin(), times.end());
    // More leaves would cost more in copies of long-lived buffers than they save in passes.
    while (levels < kMaxLevels && (kStartsPerLeaf << levels) < times.size())
      ++levels;
    nodes.resize(size_t{2} << levels);
  }

  const std::vector<PlacedBuffer> &candidates(int64_t start, int64_t end) const {
    return nodes[smallestNode(leafOf(start), leafOf(end - 1))];
  }

  void insert(const PlacedBuffer &buffer) {
    size_t first = leafOf(buffer.start), last = leafOf(buffer.end - 1);
    for (; first > 0; first /= 2, last /= 2)
      for (size_t node = first; node <= last; ++node) {
        auto byOffset = [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; };
        auto &list = nodes[node];
        list.insert(std::upper_bound(list.begin(), list.end(), buffer, byOffset), buffer);
      }
  }

private:
  static constexpr size_t kStartsPerLeaf = 32;
  static constexpr int kMaxLevels = 6;

  /// The leaf of a moment; monotonic, so that a live range meets the leaves from that of its first moment to that of
  /// its last.
  size_t leafOf(int64_t time) const {
    size_t rank = std::upper_bound(times.begin(), times.end(), time) - times.begin();
    size_t leaves = size_t{1} << levels;
    return leaves + std::min(rank * leaves / (times.size() + 1), leaves - 1);
  }

  static size_t smallestNode(size_t a, size_t b) {
    for (; a != b; a /= 2, b /= 2) {
    }
    return a;
  }

  std::vector<int64_t> times;
  int levels = 0;
  std::vector<std::vector<PlacedBuffer>> nodes;
};

} // namespace

std::vector<int64_t> placeInOrder(const Problem &problem, const std::vector<int32_t> &order, Fit fit) {
  std::vector<int64_t> offsets(problem.count(), 0);
  TimeIndex placed(problem);
  for (int32_t i : order) {
    const int64_t start = problem.start[i], end = problem.end[i];
    const int64_t size = problem.size[i], alignment = problem.alignment[i];
    int64_t top = 0, chosen = -1, leastRest = 0;
    for (const PlacedBuffer &other : placed.candidates(start, end)) {
      if (other.start >= end || other.end <= start)
        continue;
      if (other.offset > top) {
        const int64_t offset = alignUp(top, alignment);
        const int64_t rest = other.offset - offset - size;
        if (rest >= 0 && (chosen < 0 || rest < leastRest)) {
          chosen = offset;
          leastRest = rest;
          if (fit == Fit::First || rest == 0)
            break;
        }
      }
      top = std::max(top, other.top);
    }
    offsets[i] = chosen < 0 ? alignUp(top, alignment) : chosen;
    placed.insert({offsets[i], offsets[i] + size, start, end});
  }
  return offsets;
}

} // namespace hlo::packing
