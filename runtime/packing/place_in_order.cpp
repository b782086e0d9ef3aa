// Greedy placement in a given order.
//
// Each buffer is put into a gap between the buffers that are already placed and live at the same time. To visit those
// in the order of their offsets without sorting, placed buffers are kept in a dyadic index over time: a node stands for
// a range of time, halved from level to level, and lists, by offset, all placed buffers that are live somewhere in it.
// A buffer is placed by one pass over the list of the smallest node that contains its live range.

#include "packing.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <utility>

namespace hlo::packing {
namespace {

struct PlacedBuffer {
  int64_t offset;
  int64_t top;
  int64_t start;
  int64_t end;
};

/// Buffers by offset, equal ones as they came. In blocks, since the whole of time may hold 100,000: moving what lies
/// behind a new one would cost more than all passes.
class BuffersByOffset {
public:
  void insert(const PlacedBuffer &buffer) {
    if (blocks.empty())
      blocks.emplace_back();
    auto block = std::upper_bound(
        blocks.begin(), blocks.end(), buffer.offset,
        [](int64_t offset, const std::vector<PlacedBuffer> &b) { return !b.empty() && offset < b.front().offset; });
    if (block != blocks.begin())
      --block;
    auto byOffset = [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; };
    block->insert(std::upper_bound(block->begin(), block->end(), buffer, byOffset), buffer);
    if (block->size() < kMostInBlock)
      return;
    std::vector<PlacedBuffer> upper(block->begin() + kMostInBlock / 2, block->end());
    block->resize(kMostInBlock / 2);
    blocks.insert(block + 1, std::move(upper));
  }

  /// Calls `visit` with each in order until it returns false.
  template <typename Visit> void forEach(Visit visit) const {
    for (const std::vector<PlacedBuffer> &block : blocks)
      for (const PlacedBuffer &buffer : block)
        if (!visit(buffer))
          return;
  }

private:
  static constexpr size_t kMostInBlock = 512;

  std::vector<std::vector<PlacedBuffer>> blocks;
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

  const BuffersByOffset &candidates(int64_t start, int64_t end) const {
    return nodes[smallestNode(leafOf(start), leafOf(end - 1))];
  }

  void insert(const PlacedBuffer &buffer) {
    size_t first = leafOf(buffer.start), last = leafOf(buffer.end - 1);
    for (; first > 0; first /= 2, last /= 2)
      for (size_t node = first; node <= last; ++node)
        nodes[node].insert(buffer);
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
  std::vector<BuffersByOffset> nodes;
};

/// What is free below the top of an arena, by offset and by size; neighbours are one.
class Gaps {
public:
  /// Takes room for a buffer: of the gaps by size the first in which it fits, or on top.
  int64_t take(int64_t size, int64_t alignment) {
    for (auto gap = bySize.lower_bound({size, 0}); gap != bySize.end(); ++gap) {
      const auto [room, begin] = *gap;
      const int64_t offset = alignUp(begin, alignment), end = begin + room;
      if (offset + size > end)
        continue;
      remove(begin, room);
      add(begin, offset - begin);
      add(offset + size, end - offset - size);
      return offset;
    }
    const int64_t offset = alignUp(top, alignment);
    add(top, offset - top);
    top = offset + size;
    return offset;
  }

  void give(int64_t offset, int64_t size) {
    auto after = byOffset.lower_bound(offset);
    if (after != byOffset.end() && after->first == offset + size) {
      const auto [begin, room] = *after;
      after = std::next(after);
      remove(begin, room);
      size += room;
    }
    if (after != byOffset.begin()) {
      const auto [begin, room] = *std::prev(after);
      if (begin + room == offset) {
        remove(begin, room);
        offset = begin;
        size += room;
      }
    }
    add(offset, size);
  }

private:
  void add(int64_t offset, int64_t size) {
    if (size == 0)
      return;
    byOffset.emplace(offset, size);
    bySize.emplace(size, offset);
  }

  void remove(int64_t offset, int64_t size) {
    byOffset.erase(offset);
    bySize.erase({size, offset});
  }

  int64_t top = 0;
  std::map<int64_t, int64_t> byOffset;          // offset, size
  std::set<std::pair<int64_t, int64_t>> bySize; // size, offset
};

} // namespace

std::vector<int64_t> placeAsAllocated(const Problem &problem, const std::vector<int32_t> &byStart) {
  std::vector<int64_t> offsets(problem.count(), 0);
  Gaps gaps;
  std::priority_queue<std::pair<int64_t, int32_t>, std::vector<std::pair<int64_t, int32_t>>, std::greater<>> ends;
  for (int32_t i : byStart) {
    for (; !ends.empty() && ends.top().first <= problem.start[i]; ends.pop())
      gaps.give(offsets[ends.top().second], problem.size[ends.top().second]);
    offsets[i] = gaps.take(problem.size[i], problem.alignment[i]);
    ends.emplace(problem.end[i], i);
  }
  return offsets;
}

std::vector<int64_t> placeInOrder(const Problem &problem, const std::vector<int32_t> &order, Fit fit, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::vector<int64_t> offsets(problem.count(), 0);
  TimeIndex placed(problem);
  for (int32_t i : order) {
    if (seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > seconds)
      return {};
    const int64_t start = problem.start[i], end = problem.end[i];
    const int64_t size = problem.size[i], alignment = problem.alignment[i];
    int64_t top = 0, chosen = -1, leastRest = 0;
    placed.candidates(start, end).forEach([&](const PlacedBuffer &other) {
      if (other.start >= end || other.end <= start)
        return true;
      if (other.offset > top) {
        const int64_t offset = alignUp(top, alignment);
        const int64_t rest = other.offset - offset - size;
        if (rest >= 0 && (chosen < 0 || rest < leastRest)) {
          chosen = offset;
          leastRest = rest;
          if (fit == Fit::First || rest == 0)
            return false;
        }
      }
      top = std::max(top, other.top);
      return true;
    });
    offsets[i] = chosen < 0 ? alignUp(top, alignment) : chosen;
    placed.insert({offsets[i], offsets[i] + size, start, end});
  }
  return offsets;
}

} // namespace hlo::packing
