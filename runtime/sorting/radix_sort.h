// Stable sorts of plain records by an unsigned key.
//
// Ownership: arrays are the caller's. Thread safety: distinct arrays may be sorted at the same time; `threads` > 1
// uses the pool.
#pragma once

#include "../scratch.h"
#include "../thread_pool.h"
#include "merge_sort.h"
#include "vector_sort.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hlo::runtime {

/// A key alone.
template <typename U> struct BareKey {
  using Word = U;
  U key;
  uint64_t sortKey() const { return key; }
  bool operator<(const BareKey &other) const { return key < other.key; }
};

/// A key of up to 32 bits and a position, in one word: order by key, then by position.
struct PackedKey {
  using Word = uint64_t;
  uint64_t word;
  static PackedKey make(uint64_t key, uint64_t position) { return {key << 32 | position}; }
  uint64_t sortKey() const { return word >> 32; }
  uint64_t position() const { return word & 0xffffffff; }
  bool operator<(const PackedKey &other) const { return word < other.word; }
};

/// A key of 64 bits, or a position that needs more than 32.
struct WideKey {
  using Word = WideKey; // more than one word
  uint64_t key;
  uint64_t index;
  static WideKey make(uint64_t key, uint64_t position) { return {key, position}; }
  uint64_t sortKey() const { return key; }
  uint64_t position() const { return index; }
  bool operator<(const WideKey &other) const { return key != other.key ? key < other.key : index < other.index; }
};

namespace radix {

constexpr int maxDigitBits = 11;
constexpr int maxChunks = 64;

// One pass over one digit, in chunks that may run in parallel: count, turn counts into places, move.
template <typename Record, typename KeyOf> struct Pass {
  const KeyOf &keyOf;
  const Record *from;
  Record *to;
  int64_t n;
  int chunks;
  int shift;
  uint64_t mask;
  int64_t (*counts)[1 << maxDigitBits];

  int64_t chunkBegin(int64_t chunk) const { return n / chunks * chunk + std::min<int64_t>(chunk, n % chunks); }
  uint64_t digit(const Record &record) const { return static_cast<uint64_t>(keyOf(record)) >> shift & mask; }

  static void count(void **args, int64_t begin, int64_t end) {
    const Pass &pass = *static_cast<Pass *>(args[0]);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t *counts = pass.counts[chunk];
      std::memset(counts, 0, (pass.mask + 1) * sizeof *counts);
      if constexpr (std::is_same_v<Record, uint32_t>)
        if (pass.chunks == 1) { // how many there are of each digit does not depend on the order of the positions
          for (uint32_t i = 0; i < pass.n; ++i)
            ++counts[pass.digit(i)];
          continue;
        }
      for (int64_t i = pass.chunkBegin(chunk); i < pass.chunkBegin(chunk + 1); ++i)
        ++counts[pass.digit(pass.from[i])];
    }
  }

  static void move(void **args, int64_t begin, int64_t end) {
    const Pass &pass = *static_cast<Pass *>(args[0]);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t *places = pass.counts[chunk];
      for (int64_t i = pass.chunkBegin(chunk); i < pass.chunkBegin(chunk + 1); ++i)
        pass.to[places[pass.digit(pass.from[i])]++] = pass.from[i];
    }
  }

  /// False if all records have the same digit, so that nothing needs to move.
  bool countsToPlaces() const {
    int64_t place = 0;
    for (uint64_t value = 0; value <= mask; ++value) {
      const int64_t first = place;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const int64_t count = counts[chunk][value];
        counts[chunk][value] = place;
        place += count;
      }
      if (place - first == n)
        return false;
    }
    return true;
  }
};

} // namespace radix

/// Sorts records stably by the low `bits` bits of `keyOf(record)`. Records of type uint32_t are the positions below n.
/// Returns where the result is: `data` or memory of the carver, in which it works; does nothing when that counts.
template <typename Record, typename KeyOf>
Record *radixSort(Record *data, int64_t n, int bits, int threads, Carver &carver, const KeyOf &keyOf) {
  constexpr int64_t perChunk = 1 << 15;
  const int digitBits = bits <= 16 || n < 8192 ? 8 : radix::maxDigitBits; // clearing counts is work too
  const int chunks = static_cast<int>(std::clamp<int64_t>(n / perChunk, 1, std::min(threads, radix::maxChunks)));
  auto *spare = carver.take<Record>(n);
  auto *counts = reinterpret_cast<int64_t (*)[1 << radix::maxDigitBits]>(
      carver.take<int64_t>(static_cast<int64_t>(chunks) << radix::maxDigitBits));
  if (carver.isCounting())
    return data;
  for (int shift = 0; shift < bits; shift += digitBits) {
    const uint64_t mask = (uint64_t{1} << std::min(digitBits, bits - shift)) - 1;
    radix::Pass<Record, KeyOf> pass{keyOf, data, spare, n, chunks, shift, mask, counts};
    void *args[] = {&pass};
    parallelFor(chunks, radix::Pass<Record, KeyOf>::count, args, chunks, 1);
    if (!pass.countsToPlaces())
      continue;
    parallelFor(chunks, radix::Pass<Record, KeyOf>::move, args, chunks, 1);
    std::swap(data, spare);
  }
  return data;
}

/// The steps of a merge sort of words in vector registers.
template <typename Word> struct VectorSteps {
  bool before(Word a, Word b) const { return a < b; }
  void sort(Word *data, Word *spare, int64_t n) const { vectorSort(data, spare, n); }
  void merge(const Word *left, int64_t leftSize, const Word *right, int64_t rightSize, Word *to) const {
    vectorMerge(left, leftSize, right, rightSize, to);
  }
};

/// Whether records are words that are sorted in vector registers.
template <typename Record> bool areSortedInVectors() {
  using Word = typename Record::Word;
  return (std::is_same_v<Word, uint32_t> || std::is_same_v<Word, uint64_t>) && hasVectorSort();
}

/// Lines up to here are sorted by comparisons.
constexpr int64_t comparisonLimit = 512;

/// Sorts records whose order is total (equal ones are identical, or a position tells them apart) by the low `bits` bits
/// of their keys. Returns where the result is: `data` or memory of the carver, in which it works; does nothing when
/// that counts.
template <typename Record> Record *sortRecords(Record *data, int64_t n, int bits, int threads, Carver &carver) {
  constexpr int64_t tiny = 24;
  using Word = typename Record::Word;
  if constexpr (std::is_same_v<Word, uint32_t> || std::is_same_v<Word, uint64_t>)
    if (n > tiny && areSortedInVectors<Record>()) {
      // A record is its only member, the word that it is ordered by.
      mergeSort(reinterpret_cast<Word *>(data), n, threads, VectorSteps<Word>{}, carver);
      return data;
    }
  if (n > comparisonLimit)
    return radixSort(data, n, bits, threads, carver, [](const Record &record) { return record.sortKey(); });
  if (!carver.isCounting())
    std::sort(data, data + n);
  return data;
}

} // namespace hlo::runtime
