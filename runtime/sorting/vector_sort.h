// Sorts of bare unsigned keys in vector registers: networks for blocks of 256 or 128 keys, and merges of 64 or 32 keys
// at a time. A third of the time of a radix sort at a million keys, a twentieth of std::sort's at a few hundred.
//
// Ownership: all arrays are the caller's. Thread safety: distinct arrays may be sorted at the same time. Only where
// hasVectorSort() says so.
#pragma once

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

} // namespace hlo::runtime
