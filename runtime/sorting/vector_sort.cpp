#include "vector_sort.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

namespace hlo::runtime {

bool hasVectorSort() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return has;
}

namespace {

using Vector = __m512i;

template <typename U> constexpr int lanesOf = static_cast<int>(sizeof(Vector) / sizeof(U));
constexpr int blockVectors = 16; // sorted in registers
constexpr int groupVectors = 4;  // that a merge takes at a time
template <typename U> constexpr int blockKeys = blockVectors * lanesOf<U>;
template <typename U> constexpr int groupKeys = groupVectors * lanesOf<U>;
constexpr int64_t fewWords = 32; // that are sorted by counting
template <typename U> constexpr U largest = static_cast<U>(~U{0});

template <typename U> inline Vector loadKeys(const U *from) { return _mm512_loadu_si512(from); }
// Nothing here comes from the standard library's templates: their code for these registers could stand in for that of
// files for all processors.
template <typename U> inline void copyKeys(const U *from, int64_t n, U *to) {
  __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(U));
}
template <typename U> inline void padKeys(U *from, U *to) {
  for (; from < to; ++from)
    *from = largest<U>;
}

template <typename U> inline void storeKeys(U *to, Vector keys) { _mm512_storeu_si512(to, keys); }

template <typename U> inline Vector smaller(Vector a, Vector b) {
  if constexpr (sizeof(U) == 4)
    return _mm512_min_epu32(a, b);
  else
    return _mm512_min_epu64(a, b);
}

template <typename U> inline Vector larger(Vector a, Vector b) {
  if constexpr (sizeof(U) == 4)
    return _mm512_max_epu32(a, b);
  else
    return _mm512_max_epu64(a, b);
}

template <typename U> inline void order(Vector &low, Vector &high) {
  const Vector least = smaller<U>(low, high);
  high = larger<U>(low, high);
  low = least;
}

// Lane l of the result is lane l ^ mask.
template <typename U, int mask> inline Vector exchangeLanes(Vector keys) {
  if constexpr (sizeof(U) == 8 && mask < 2)
    return _mm512_shuffle_epi32(keys, static_cast<_MM_PERM_ENUM>(0x4e));
  else if constexpr (sizeof(U) == 4 && mask < 4)
    return _mm512_shuffle_epi32(
        keys, static_cast<_MM_PERM_ENUM>((0 ^ mask) | (1 ^ mask) << 2 | (2 ^ mask) << 4 | (3 ^ mask) << 6));
  else if constexpr (sizeof(U) == 4)
    return _mm512_permutexvar_epi32(
        _mm512_xor_si512(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(mask)),
        keys);
  else
    return _mm512_permutexvar_epi64(
        _mm512_xor_si512(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(mask)), keys);
}

// The lanes whose number has the bit `bit`.
constexpr uint32_t lanesWith(int bit, int lanes) {
  uint32_t mask = 0;
  for (int lane = 0; lane < lanes; ++lane)
    if (lane & bit)
      mask |= 1u << lane;
  return mask;
}

// The smaller keys in the lanes without the bit `bit`, the larger ones in those with it.
template <typename U, int bit> inline Vector orderByBit(Vector a, Vector b) {
  constexpr uint32_t upper = lanesWith(bit, lanesOf<U>);
  const Vector low = smaller<U>(a, b);
  if constexpr (sizeof(U) == 4)
    return _mm512_mask_max_epu32(low, static_cast<__mmask16>(upper), a, b);
  else
    return _mm512_mask_max_epu64(low, static_cast<__mmask8>(upper), a, b);
}

// Sorts, in each group of 2 * distance lanes, keys that rise and then fall (Batcher, "Sorting networks and their
// applications", 1968).
template <typename U, int distance> inline void mergeLanes(Vector *keys, int count) {
  if constexpr (distance > 0) {
    for (int i = 0; i < count; ++i)
      keys[i] = orderByBit<U, distance>(keys[i], exchangeLanes<U, distance>(keys[i]));
    mergeLanes<U, distance / 2>(keys, count);
  }
}

// The same across vectors, lane by lane.
template <typename U, int count> inline void mergeVectors(Vector *keys) {
  for (int distance = count / 2; distance > 0; distance /= 2)
    for (int i = 0; i < count; ++i)
      if (!(i & distance))
        order<U>(keys[i], keys[i + distance]);
}

// ---- Blocks: key number lane * 16 + vector, so that most steps are between whole vectors
// ------------------------------

// 60 comparators for 16 inputs (Green, in Knuth, "Sorting and searching", 5.3.4).
constexpr int greensNetwork[60][2] = {
    {0, 1},  {2, 3},  {4, 5},   {6, 7},   {8, 9},  {10, 11}, {12, 13}, {14, 15}, {0, 2},  {4, 6},   {8, 10},  {12, 14},
    {1, 3},  {5, 7},  {9, 11},  {13, 15}, {0, 4},  {8, 12},  {1, 5},   {9, 13},  {2, 6},  {10, 14}, {3, 7},   {11, 15},
    {0, 8},  {1, 9},  {2, 10},  {3, 11},  {4, 12}, {5, 13},  {6, 14},  {7, 15},  {5, 10}, {6, 9},   {3, 12},  {13, 14},
    {4, 8},  {7, 11}, {1, 2},   {1, 4},   {7, 13}, {2, 8},   {11, 14}, {2, 4},   {5, 6},  {9, 10},  {11, 13}, {3, 8},
    {7, 12}, {6, 8},  {10, 12}, {3, 5},   {7, 9},  {3, 4},   {5, 6},   {7, 8},   {9, 10}, {11, 12}, {6, 7},   {8, 9},
};

// Merges sorted groups of group / 2 lanes by twos: the second half of each is met from its end.
template <typename U, int group> inline void mergeGroups(Vector *keys) {
  for (int i = 0; i < blockVectors / 2; ++i) {
    const int j = blockVectors - 1 - i;
    const Vector a = keys[i], b = keys[j];
    keys[i] = orderByBit<U, group / 2>(a, exchangeLanes<U, group - 1>(b));
    keys[j] = orderByBit<U, group / 2>(b, exchangeLanes<U, group - 1>(a));
  }
  mergeLanes<U, group / 4>(keys, blockVectors);
  mergeVectors<U, blockVectors>(keys);
  if constexpr (group < lanesOf<U>)
    mergeGroups<U, 2 * group>(keys);
}

template <typename U> inline void zip(Vector a, Vector b, Vector &low, Vector &high) {
  if constexpr (sizeof(U) == 4) {
    low = _mm512_permutex2var_epi32(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b);
    high = _mm512_permutex2var_epi32(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
                                     b);
  } else {
    low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
    high = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  }
}

// With row and column numbers written as one string of bits, zipping the upper half of the rows with the lower turns
// the string by one bit; log2(lanes) turns exchange row and column.
template <typename U> inline void transpose(Vector *rows) {
  constexpr int lanes = lanesOf<U>;
  for (int turn = 1; turn < lanes; turn *= 2) {
    Vector turned[lanes];
    for (int i = 0; i < lanes / 2; ++i)
      zip<U>(rows[i], rows[i + lanes / 2], turned[2 * i], turned[2 * i + 1]);
    for (int i = 0; i < lanes; ++i)
      rows[i] = turned[i];
  }
}

template <typename U> void sortBlock(const U *from, U *to) {
  Vector keys[blockVectors];
  for (int i = 0; i < blockVectors; ++i)
    keys[i] = loadKeys(from + i * lanesOf<U>);
#pragma GCC unroll 60
  for (const auto &pair : greensNetwork)
    order<U>(keys[pair[0]], keys[pair[1]]);
  mergeGroups<U, 2>(keys);
  for (int half = 0; half < blockVectors; half += lanesOf<U>) {
    transpose<U>(keys + half);
    for (int lane = 0; lane < lanesOf<U>; ++lane)
      storeKeys(to + lane * blockVectors + half, keys[half + lane]);
  }
}

/// Sorts at most a block; padded with keys that stay behind.
template <typename U> void sortUpToBlock(const U *from, U *to, int64_t n) {
  if (n == blockKeys<U>)
    return sortBlock(from, to);
  alignas(64) U padded[blockKeys<U>];
  copyKeys(from, n, padded);
  padKeys(padded + n, padded + blockKeys<U>);
  sortBlock(padded, padded);
  copyKeys(padded, n, to);
}

// ---- Merges
// ----------------------------------------------------------------------------------------------------------

/// A sorted array as groups of keys, the last one padded; after it come groups of the largest key.
template <typename U> class Groups {
public:
  Groups(const U *keys, int64_t n) : next(keys), body(n / groupKeys<U>) {
    const int64_t whole = body * groupKeys<U>;
    copyKeys(keys + whole, n - whole, last);
    padKeys(last + n - whole, last + 2 * groupKeys<U>);
    if (body == 0)
      next = last;
  }
  Groups(const Groups &) = delete;
  Groups &operator=(const Groups &) = delete;

  U first() const { return *next; }

  void take(Vector *group) {
    for (int i = 0; i < groupVectors; ++i)
      group[i] = loadKeys(next + i * lanesOf<U>);
    next += groupKeys<U>;
    if (--body <= 0) // the last one, then for ever what is behind it
      next = body == 0 ? last : last + groupKeys<U>;
  }

private:
  const U *next;
  int64_t body;
  alignas(64) U last[2 * groupKeys<U>];
};

// Two sorted groups: the smaller half of their keys into `low`, the other into `high`, both sorted.
template <typename U> inline void mergeTwo(Vector *low, Vector *high) {
  Vector met[groupVectors];
  for (int i = 0; i < groupVectors; ++i)
    met[i] = exchangeLanes<U, lanesOf<U> - 1>(high[groupVectors - 1 - i]);
  for (int i = 0; i < groupVectors; ++i) {
    high[i] = larger<U>(low[i], met[i]);
    low[i] = smaller<U>(low[i], met[i]);
  }
  mergeVectors<U, groupVectors>(high);
  mergeLanes<U, lanesOf<U> / 2>(high, groupVectors);
  mergeVectors<U, groupVectors>(low);
  mergeLanes<U, lanesOf<U> / 2>(low, groupVectors);
}

// The next groups to write are never greater than any key not yet read: the group with the smaller first key is taken.
template <typename U> void mergeKeys(const U *left, int64_t leftSize, const U *right, int64_t rightSize, U *to) {
  if (leftSize == 0 || rightSize == 0) {
    copyKeys(left, leftSize, to);
    copyKeys(right, rightSize, to + leftSize);
    return;
  }
  Groups<U> a(left, leftSize), b(right, rightSize);
  const int64_t n = leftSize + rightSize;
  Vector low[groupVectors], high[groupVectors];
  a.take(high);
  for (int64_t done = 0; done < n; done += groupKeys<U>) {
    if (b.first() < a.first())
      b.take(low);
    else
      a.take(low);
    mergeTwo<U>(low, high);
    if (n - done >= groupKeys<U>) {
      for (int i = 0; i < groupVectors; ++i)
        storeKeys(to + done + i * lanesOf<U>, low[i]);
    } else {
      alignas(64) U rest[groupKeys<U>];
      for (int i = 0; i < groupVectors; ++i)
        storeKeys(rest + i * lanesOf<U>, low[i]);
      copyKeys(rest, n - done, to + done);
    }
  }
}

/// Sorts data[0, n) into `data` or `spare`; both are written.
template <typename U> void sortKeys(U *data, U *spare, int64_t n, bool intoSpare) {
  if (n <= blockKeys<U>)
    return sortUpToBlock(data, intoSpare ? spare : data, n);
  const int64_t half = (n / 2 + blockKeys<U> - 1) / blockKeys<U> * blockKeys<U>;
  sortKeys(data, spare, half, !intoSpare);
  sortKeys(data + half, spare + half, n - half, !intoSpare);
  const U *from = intoSpare ? data : spare;
  mergeKeys(from, half, from + half, n - half, intoSpare ? spare : data);
}

// ---- Selection ----

using Word = uint64_t; // a key above its position
constexpr int keyLanes = lanesOf<uint32_t>;

// The least key of each of `vectors` times 16 classes of keys, those a whole number of so many lanes apart.
template <int vectors> inline void leastOfLanes(const uint32_t *keys, int64_t n, uint32_t *least) {
  Vector found[vectors];
  for (int v = 0; v < vectors; ++v)
    found[v] = _mm512_set1_epi32(-1);
  for (int64_t i = 0; i + vectors * keyLanes <= n; i += vectors * keyLanes)
    for (int v = 0; v < vectors; ++v)
      found[v] = smaller<uint32_t>(found[v], loadKeys(keys + i + v * keyLanes));
  for (int v = 0; v < vectors; ++v)
    storeKeys(least + v * keyLanes, found[v]);
}

// The key of which `wanted` of a register's keys are no larger: of those that fewer than `wanted` are below, the
// largest.
inline uint32_t keyOfRank(const uint32_t *keys, int wanted) {
  const Vector all = loadKeys(keys);
  uint32_t rank = 0;
  for (int lane = 0; lane < keyLanes; ++lane) {
    const auto own = static_cast<int>(keys[lane]);
    const int below = __builtin_popcount(_mm512_cmplt_epu32_mask(all, _mm512_set1_epi32(own)));
    if (below < wanted && keys[lane] > rank)
      rank = keys[lane];
  }
  return rank;
}

// The two registers of words of a register's keys and their positions.
inline void joinWords(Vector keys, Vector positions, Word *to) {
  Vector low, high;
  zip<uint32_t>(positions, keys, low, high);
  storeKeys(to, low);
  storeKeys(to + lanesOf<Word>, high);
}

template <typename U> void encodeWidened(const char *array, int64_t count, const SortKey &key, uint32_t *codes) {
  constexpr int64_t block = 256;
  U narrow[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t size = count - begin < block ? count - begin : block;
    encodeMany<U>(array + begin * static_cast<int64_t>(sizeof(U)), size, key, narrow);
    for (int64_t i = 0; i < size; ++i)
      codes[begin + i] = narrow[i];
  }
}

// Of each word the number of smaller ones is its place.
inline void sortFewWords(Word *words, int64_t n) {
  alignas(64) Word from[fewWords];
  copyKeys(words, n, from);
  padKeys(from + n, from + fewWords);
  for (int64_t i = 0; i < n; ++i) {
    const Vector own = _mm512_set1_epi64(static_cast<long long>(from[i]));
    int place = 0;
    for (int64_t j = 0; j < n; j += lanesOf<Word>)
      place += __builtin_popcount(_mm512_cmplt_epu64_mask(loadKeys(from + j), own));
    words[place] = from[i];
  }
}

} // namespace

void vectorSort(uint32_t *data, uint32_t *spare, int64_t n) { sortKeys(data, spare, n, false); }
void vectorSort(uint64_t *data, uint64_t *spare, int64_t n) { sortKeys(data, spare, n, false); }

void vectorMerge(const uint32_t *left, int64_t leftSize, const uint32_t *right, int64_t rightSize, uint32_t *to) {
  mergeKeys(left, leftSize, right, rightSize, to);
}
void vectorMerge(const uint64_t *left, int64_t leftSize, const uint64_t *right, int64_t rightSize, uint64_t *to) {
  mergeKeys(left, leftSize, right, rightSize, to);
}

void vectorEncode(const char *array, int size, int64_t count, const SortKey &key, uint32_t *codes) {
  if (size == 4)
    encodeMany<uint32_t>(array, count, key, codes);
  else if (size == 2)
    encodeWidened<uint16_t>(array, count, key, codes);
  else
    encodeWidened<uint8_t>(array, count, key, codes);
}

uint32_t vectorBound(const uint32_t *keys, int64_t n, int64_t wanted) {
  constexpr int vectors = 4;
  alignas(64) uint32_t least[blockKeys<uint32_t>];
  if (wanted <= keyLanes) {
    leastOfLanes<1>(keys, n, least);
    return keyOfRank(least, static_cast<int>(wanted));
  }
  if (wanted > vectors * keyLanes || n < vectors * keyLanes)
    return largest<uint32_t>;
  leastOfLanes<vectors>(keys, n, least);
  sortUpToBlock(least, least, vectors * keyLanes);
  return least[wanted - 1];
}

int64_t vectorSelect(const uint32_t *keys, int64_t n, uint32_t position, uint32_t bound, uint64_t *words) {
  const Vector most = _mm512_set1_epi32(static_cast<int>(bound));
  Vector positions = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                      _mm512_set1_epi32(static_cast<int>(position)));
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += keyLanes) {
    const auto present = static_cast<__mmask16>(n - i < keyLanes ? (1u << (n - i)) - 1 : 0xffffu);
    const Vector some = _mm512_maskz_loadu_epi32(present, keys + i);
    const __mmask16 chosen = _mm512_mask_cmple_epu32_mask(present, some, most);
    if (chosen) {
      joinWords(_mm512_maskz_compress_epi32(chosen, some), _mm512_maskz_compress_epi32(chosen, positions),
                words + count);
      count += __builtin_popcount(chosen);
    }
    positions = _mm512_add_epi32(positions, _mm512_set1_epi32(keyLanes));
  }
  return count;
}

void vectorSortWords(uint64_t *words, uint64_t *spare, int64_t n) {
  if (n <= fewWords)
    sortFewWords(words, n);
  else
    vectorSort(words, spare, n);
}

} // namespace hlo::runtime

#else // a compiler for processors that have no such registers

namespace hlo::runtime {

bool hasVectorSort() { return false; }
void vectorSort(uint32_t *, uint32_t *, int64_t) {}
void vectorSort(uint64_t *, uint64_t *, int64_t) {}
void vectorMerge(const uint32_t *, int64_t, const uint32_t *, int64_t, uint32_t *) {}
void vectorMerge(const uint64_t *, int64_t, const uint64_t *, int64_t, uint64_t *) {}
void vectorEncode(const char *, int, int64_t, const SortKey &, uint32_t *) {}
uint32_t vectorBound(const uint32_t *, int64_t, int64_t) { return 0; }
int64_t vectorSelect(const uint32_t *, int64_t, uint32_t, uint32_t, uint64_t *) { return 0; }
void vectorSortWords(uint64_t *, uint64_t *, int64_t) {}

} // namespace hlo::runtime
#endif
