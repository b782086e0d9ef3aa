// Stable sorts of plain records by an unsigned key.
//
// Ownership: both arrays are the caller's. Thread safety: distinct arrays may be sorted at the same time; `threads` > 1
// uses the pool.
#pragma once

#include "../thread_pool.h"
#include "merge_sort.h"
#include "vector_sort.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
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
template <typename Record> struct Pass {
  const Record *from;
  Record *to;
  int64_t n;
  int chunks;
  int shift;
  uint64_t mask;
  int64_t (*counts)[1 << maxDigitBits];

  int64_t chunkBegin(int64_t chunk) const { return n / chunks * chunk + std::min<int64_t>(chunk, n % chunks); }
  uint64_t digit(const Record &record) const { return record.sortKey() >> shift & mask; }

  static void count(void **args, int64_t begin, int64_t end) {
    const Pass &pass = *static_cast<Pass *>(args[0]);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t *counts = pass.counts[chunk];
      std::memset(counts, 0, (pass.mask + 1) * sizeof *counts);
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

/// Sorts records by the low `bits` bits of their keys, stably. Returns where the result is: `data` or `scratch`.
template <typename Record> Record *radixSort(Record *data, Record *scratch, int64_t n, int bits, int threads) {
  constexpr int64_t perChunk = 1 << 15;
  const int digitBits = bits <= 16 || n < 8192 ? 8 : radix::maxDigitBits; // clearing counts is work too
  const int chunks = static_cast<int>(std::clamp<int64_t>(n / perChunk, 1, std::min(threads, radix::maxChunks)));
  const std::unique_ptr<int64_t[][1 << radix::maxDigitBits]> counts(new int64_t[chunks][1 << radix::maxDigitBits]);
  for (int shift = 0; shift < bits; shift += digitBits) {
    radix::Pass<Record> pass{
        data, scratch, n, chunks, shift, (uint64_t{1} << std::min(digitBits, bits - shift)) - 1, counts.get()};
    void *args[] = {&pass};
    parallelFor(chunks, radix::Pass<Record>::count, args, chunks, 1);
    if (!pass.countsToPlaces())
      continue;
    parallelFor(chunks, radix::Pass<Record>::move, args, chunks, 1);
    std::swap(data, scratch);
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

/// Sorts records whose order is total (equal ones are identical, or a position tells them apart) by the low `bits` bits
/// of their keys. Returns where the result is: `data` or `scratch`.
template <typename Record> Record *sortRecords(Record *data, Record *scratch, int64_t n, int bits, int threads) {
  constexpr int64_t comparisonLimit = 512, tiny = 24;
  using Word = typename Record::Word;
  if constexpr (std::is_same_v<Word, uint32_t> || std::is_same_v<Word, uint64_t>)
    if (n > tiny && hasVectorSort()) {
      // A record is its only member, the word that it is ordered by.
      mergeSort(reinterpret_cast<Word *>(data), reinterpret_cast<Word *>(scratch), n, threads, VectorSteps<Word>{});
      return data;
    }
  if (n <= comparisonLimit) {
    std::sort(data, data + n);
    return data;
  }
  return radixSort(data, scratch, n, bits, threads);
}

} // namespace hlo::runtime
