// Stable merge sort, parallel when the pool is free.
//
// Ownership: the array is the caller's. Thread safety: distinct arrays may be sorted at the same time. A comparison
// that is no strict weak order gives some permutation, and never an access outside the arrays.
#pragma once

#include "../scratch.h"
#include "../thread_pool.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace hlo::runtime {

namespace merging {

template <typename T, typename Before> void insertionSort(T *data, int64_t n, const Before &before) {
  for (int64_t i = 1; i < n; ++i) {
    const T value = data[i];
    int64_t j = i;
    for (; j > 0 && before(value, data[j - 1]); --j)
      data[j] = data[j - 1];
    data[j] = value;
  }
}

template <typename T, typename Before>
void merge(const T *left, int64_t leftSize, const T *right, int64_t rightSize, T *to, const Before &before) {
  const T *leftEnd = left + leftSize, *rightEnd = right + rightSize;
  while (left != leftEnd && right != rightEnd)
    *to++ = before(*right, *left) ? *right++ : *left++;
  to = std::copy(left, leftEnd, to);
  std::copy(right, rightEnd, to);
}

template <typename T, typename Before> void sortSerially(T *data, T *scratch, int64_t n, const Before &before) {
  constexpr int64_t run = 16;
  for (int64_t begin = 0; begin < n; begin += run)
    insertionSort(data + begin, std::min(run, n - begin), before);
  T *from = data, *to = scratch;
  for (int64_t width = run; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t left = std::min(width, n - begin), right = std::min(width, n - begin - left);
      merge(from + begin, left, from + begin + left, right, to + begin, before);
    }
    std::swap(from, to);
  }
  if (from != data)
    std::copy(from, from + n, data);
}

/// The steps of a merge sort, by a comparison; other steps may stand for these.
template <typename T, typename Before> struct ComparisonSteps {
  const Before &before;
  void sort(T *data, T *scratch, int64_t n) const { sortSerially(data, scratch, n, before); }
  void merge(const T *left, int64_t leftSize, const T *right, int64_t rightSize, T *to) const {
    merging::merge(left, leftSize, right, rightSize, to, before);
  }
};

// How many of the first `place` merged elements come from the left run (the merge path of Odeh et al., 2012).
template <typename T, typename Steps>
int64_t fromLeft(const T *left, int64_t leftSize, const T *right, int64_t rightSize, int64_t place,
                 const Steps &steps) {
  int64_t low = std::max<int64_t>(0, place - rightSize), high = std::min(place, leftSize);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (steps.before(right[place - middle - 1], left[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <typename T, typename Steps> struct Job {
  T *from;
  T *to;
  int64_t n;
  int64_t chunk;  // elements a chunk, when chunks are sorted
  int64_t width;  // elements a run, when runs are merged
  int64_t pieces; // of each merge
  const Steps *steps;
  int64_t *splits; // elements a merge's pieces take from its left run, running totals

  static void sortChunks(void **args, int64_t begin, int64_t end) {
    const Job &job = *static_cast<Job *>(args[0]);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * job.chunk;
      job.steps->sort(job.from + first, job.to + first, std::min(job.chunk, job.n - first));
    }
  }

  static void mergeRuns(void **args, int64_t begin, int64_t end) {
    const Job &job = *static_cast<Job *>(args[0]);
    for (int64_t unit = begin; unit < end; ++unit)
      job.mergePiece(unit / job.pieces, unit % job.pieces);
  }

  // Splits are found one after the other and kept in step, so that the pieces are a partition for any comparison.
  void findSplits(int64_t merges) {
    for (int64_t merge = 0; merge < merges; ++merge) {
      const int64_t first = merge * 2 * width;
      const int64_t leftSize = std::min(width, n - first), rightSize = std::min(width, n - first - leftSize);
      int64_t *split = splits + merge * (pieces + 1);
      split[0] = 0;
      for (int64_t piece = 1; piece <= pieces; ++piece) {
        const int64_t place = placeOf(piece, leftSize + rightSize),
                      step = place - placeOf(piece - 1, leftSize + rightSize);
        const int64_t found = fromLeft(from + first, leftSize, from + first + leftSize, rightSize, place, *steps);
        split[piece] = std::clamp(found, split[piece - 1], split[piece - 1] + step);
      }
    }
  }

  int64_t placeOf(int64_t piece, int64_t total) const { return total * piece / pieces; }

  void mergePiece(int64_t mergeIndex, int64_t piece) const {
    const int64_t first = mergeIndex * 2 * width;
    const int64_t leftSize = std::min(width, n - first), rightSize = std::min(width, n - first - leftSize);
    const int64_t begin = placeOf(piece, leftSize + rightSize), end = placeOf(piece + 1, leftSize + rightSize);
    const int64_t *split = splits + mergeIndex * (pieces + 1) + piece;
    const T *left = from + first, *right = left + leftSize;
    steps->merge(left + split[0], split[1] - split[0], right + begin - split[0], end - split[1] - (begin - split[0]),
                 to + first + begin);
  }
};

} // namespace merging

/// Sorts data[0, n) by steps that keep the order of equals, which is then stable; the result is in `data`. Works in
/// memory of the carver; does nothing when that counts.
template <typename T, typename Steps>
void mergeSort(T *data, int64_t n, int threads, const Steps &steps, Carver &carver) {
  constexpr int64_t perThread = 1 << 13;
  const int64_t chunks = std::clamp<int64_t>(n / perThread, 1, threads);
  T *scratch = carver.take<T>(n);
  int64_t *splits = carver.take<int64_t>(chunks > 1 ? threads + 2 * chunks : 0); // merges * (pieces + 1) at the most
  if (carver.isCounting())
    return;
  if (chunks == 1)
    return steps.sort(data, scratch, n);
  using Job = merging::Job<T, Steps>;
  Job job{data, scratch, n, (n + chunks - 1) / chunks, 0, 1, &steps, splits};
  void *args[] = {&job};
  parallelFor(threads, Job::sortChunks, args, chunks, 1);
  for (job.width = job.chunk; job.width < n; job.width *= 2) {
    const int64_t merges = (n + 2 * job.width - 1) / (2 * job.width);
    job.pieces = std::max<int64_t>(1, threads / merges);
    job.findSplits(merges);
    parallelFor(threads, Job::mergeRuns, args, merges * job.pieces, 1);
    std::swap(job.from, job.to);
  }
  if (job.from != data)
    std::copy(job.from, job.from + n, data);
}

} // namespace hlo::runtime
