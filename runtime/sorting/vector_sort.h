// Sorts of bare unsigned keys in vector registers: networks for blocks of 256 or 128 keys, and merges of 64 or 32 keys
// at a time; and the first few of many keys. A third of the time of a radix sort at a million keys, a twentieth of
// std::sort's at a few hundred.
//
// Ownership: all arrays are the caller's. Thread safety: distinct arrays may be sorted at the same time. Only where
// hasVectorSort() says so.
#pragma once

#include "sort_keys.h"

#include <cstdint>

namespace hlo::runtime {

/// Whether the processor has what the functions below are compiled for (AVX-512).
bool hasVectorSort();

/// Sorts data[0, n); `spare` has as much room.
void vectorSort(uint32_t *data, uint32_t *spare, int64_t n);
void vectorSort(uint64_t *data, uint64_t *spare, int64_t n);

/// Merges two sorted arrays into `to`, which overlaps neither.
void vectorMerge(const uint32_t *left, int64_t leftSize, const uint32_t *right, int64_t rightSize, uint32_t *to);
void vectorMerge(const uint64_t *left, int64_t leftSize, const uint64_t *right, int64_t rightSize, uint64_t *to);

/// encodeMany of elements of `size` bytes, 4 at the most.
void vectorEncode(const char *array, int size, int64_t count, const SortKey &key, uint32_t *codes);

/// A key that at least `wanted` of the n keys do not exceed, and few more: the wanted-th of the least keys of classes
/// of them. The largest there is where there are no classes enough.
uint32_t vectorBound(const uint32_t *keys, int64_t n, int64_t wanted);

/// Writes the keys that are not above `bound`, each above its position (of keys[0]: `position`), and returns how many.
/// Up to 16 words behind them are written too.
int64_t vectorSelect(const uint32_t *keys, int64_t n, uint32_t position, uint32_t bound, uint64_t *words);

/// As vectorSort; no two words are equal.
void vectorSortWords(uint64_t *words, uint64_t *spare, int64_t n);

} // namespace hlo::runtime
