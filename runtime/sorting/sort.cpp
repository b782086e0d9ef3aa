// Sorting along a dimension, and top-k: see kernel_abi.h for the interface.
//
// A line (the elements along the sorted dimension) is sorted by finding its permutation from keys alone and then moving
// each operand once. Lines that are strided in memory are taken in small groups, so that a cache line is read once.

#include "sort.h"
#include "../kernel_abi.h"
#include "../runtime.h"
#include "../scratch.h"
#include "merge_sort.h"
#include "radix_sort.h"
#include "sort.h"
#include "sort_keys.h"

#include <algorithm>
#include <alloca.h>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace hlo::runtime {
namespace {

// ---- The problem ---------------------------------------------------------------------------------------------------

struct Operand {
  const char *input; // null: the elements are their positions along the line
  char *output;      // null: not wanted
  int size;

  const char *inputAt(int64_t element) const { return input ? input + element * size : nullptr; }
  char *outputAt(int64_t element) const { return output ? output + element * size : nullptr; }
};

template <typename T> struct Span {
  T *items = nullptr;
  int64_t count = 0;

  T *begin() const { return items; }
  T *end() const { return items + count; }
  T &operator[](int64_t i) const { return items[i]; }
};

template <typename T> Span<T> takeSpan(Carver &carver, int64_t count) { return {carver.take<T>(count), count}; }

struct Problem {
  int threads;
  int64_t outer, n, inner;
  Span<Operand> operands = {};
  Span<SortKey> keys = {};       // when sorting by keys
  HloCompareFn before = nullptr; // when sorting by a comparator
  int64_t group = 1;             // neighbouring strided lines taken together
  int lineThreads = 1;           // threads one line may use
  int64_t first = -1;            // how many elements of each sorted line results hold; all if negative

  int64_t wanted() const { return first < 0 || first > n ? n : first; }
  /// The operand whose result is a line's order as it is found; -1 if there is none.
  int64_t orderOperand() const {
    for (int64_t o = 0; o < operands.count; ++o)
      if (!operands[o].input && operands[o].output && operands[o].size == sizeof(uint32_t) && wanted() == n)
        return o;
    return -1;
  }
};

// ---- Permutations --------------------------------------------------------------------------------------------------

/// A line in contiguous memory: one array per operand.
struct Line {
  const char **inputs;
  char **outputs;
};

template <typename T> void gather(const char *from, char *to, const uint32_t *order, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)),
                from + static_cast<int64_t>(order[i]) * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

struct Bytes16 {
  char bytes[16];
};

void gather(const char *from, char *to, int size, const uint32_t *order, int64_t n) {
  switch (size) {
  case 1:
    return gather<uint8_t>(from, to, order, n);
  case 2:
    return gather<uint16_t>(from, to, order, n);
  case 4:
    return gather<uint32_t>(from, to, order, n);
  case 8:
    return gather<uint64_t>(from, to, order, n);
  default:
    return gather<Bytes16>(from, to, order, n);
  }
}

template <typename F> void withUnsigned(int size, const F &f) {
  switch (size) {
  case 1:
    return f(uint8_t{});
  case 2:
    return f(uint16_t{});
  case 4:
    return f(uint32_t{});
  default:
    return f(uint64_t{});
  }
}

template <typename U> U element(const char *array, int64_t i) {
  U bits;
  std::memcpy(&bits, array + i * static_cast<int64_t>(sizeof(U)), sizeof bits);
  return bits;
}

/// What a line of positions becomes, in integers of `size` bytes.
void storePositions(char *to, int size, const uint32_t *order, int64_t n) {
  withUnsigned(size, [&](auto u) {
    for (int64_t i = 0; i < n; ++i) {
      const auto position = static_cast<decltype(u)>(order[i]);
      std::memcpy(to + i * static_cast<int64_t>(sizeof position), &position, sizeof position);
    }
  });
}

void makeIdentity(uint32_t *order, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    order[i] = static_cast<uint32_t>(i);
}

/// Reorders `order` stably by one key: positions alone move, their keys are read from the array each time.
template <typename U>
void sortPositions(const char *array, const SortKey &key, uint32_t *order, bool isIdentity, int64_t n, int threads,
                   Carver &carver) {
  if (isIdentity && !carver.isCounting())
    makeIdentity(order, n);
  const uint32_t *sorted = radixSort(order, n, static_cast<int>(sizeof(U)) * 8, threads, carver,
                                     [&](uint32_t position) { return encode(element<U>(array, position), key); });
  if (sorted != order)
    std::copy(sorted, sorted + n, order);
}

/// The same with records of keys and positions, which are read and written in sequence.
template <typename Record, typename U>
void sortKeyRecords(const char *array, const SortKey &key, uint32_t *order, bool isIdentity, int64_t n, int threads,
                    Carver &carver) {
  auto *records = carver.take<Record>(n);
  auto *previous = carver.take<uint32_t>(isIdentity ? 0 : n);
  const int64_t present = carver.isCounting() ? 0 : n;
  constexpr int64_t block = 256;
  U codes[block];
  for (int64_t begin = 0; begin < present && isIdentity; begin += block) {
    const int64_t size = std::min(block, n - begin);
    encodeMany<U>(array + begin * static_cast<int64_t>(sizeof(U)), size, key, codes);
    for (int64_t i = 0; i < size; ++i)
      records[begin + i] = Record::make(codes[i], static_cast<uint64_t>(begin + i));
  }
  for (int64_t i = 0; i < present && !isIdentity; ++i)
    records[i] = Record::make(encode(element<U>(array, order[i]), key), static_cast<uint64_t>(i));
  const Record *sorted = sortRecords(records, n, static_cast<int>(sizeof(U)) * 8, threads, carver);
  if (carver.isCounting())
    return;
  if (isIdentity) {
    for (int64_t i = 0; i < n; ++i)
      order[i] = static_cast<uint32_t>(sorted[i].position());
    return;
  }
  std::copy(order, order + n, previous);
  for (int64_t i = 0; i < n; ++i)
    order[i] = previous[sorted[i].position()];
}

/// Reorders `order` stably by one key.
template <typename Record, typename U>
void sortByKey(const char *array, const SortKey &key, uint32_t *order, bool isIdentity, int64_t n, int threads,
               Carver &carver) {
  constexpr int64_t nearBytes = 1 << 19; // an array whose elements the processor finds fast in any order
  const bool near = n * static_cast<int64_t>(sizeof(U)) <= nearBytes && n > comparisonLimit;
  (near && !areSortedInVectors<Record>() ? sortPositions<U> : sortKeyRecords<Record, U>)(array, key, order, isIdentity,
                                                                                         n, threads, carver);
}

/// The first `wanted` of n elements in stable order. `records` holds 2 * wanted + selectionBlock of them.
///
/// Elements that are not before the last of those found so far are passed over, many at a time; the others are
/// collected, and cut down to the best whenever there are twice too many.
constexpr int64_t selectionBlock = 64;
template <typename Record, typename U>
void selectFirst(const char *array, const SortKey &key, int64_t n, int64_t wanted, Record *records) {
  int64_t count = 0;
  bool full = false;
  U limit = 0; // when full: the last one's key; equal keys that follow come after it
  const auto cut = [&] {
    std::nth_element(records, records + (wanted - 1), records + count);
    count = wanted;
    limit = static_cast<U>(records[wanted - 1].sortKey());
    full = true;
  };
  for (int64_t begin = 0; begin < n; begin += selectionBlock) {
    const int64_t size = std::min(selectionBlock, n - begin);
    U codes[selectionBlock];
    bool some = !full;
    encodeMany<U>(array + begin * static_cast<int64_t>(sizeof(U)), size, key, codes);
    for (int64_t i = 0; i < size; ++i)
      some |= codes[i] < limit;
    if (!some)
      continue;
    for (int64_t i = 0; i < size; ++i)
      if (!full || codes[i] < limit)
        records[count++] = Record::make(codes[i], static_cast<uint64_t>(begin + i));
    if (count >= 2 * wanted)
      cut();
  }
  if (count > wanted)
    cut();
  std::sort(records, records + wanted);
}

/// The same in vector registers, of keys of up to 32 bits; `words` and `spare` hold wordsFor(wanted) each.
///
/// Keys that exceed a bound are passed over, a register at a time: one that `wanted` of the first block do not exceed,
/// and, whenever many have been collected, the last of the best of them.
constexpr int64_t vectorSelectionBlock = 1024, vectorSelectionStep = 64, writtenBehind = 16;
constexpr int64_t wordsFor(int64_t wanted) { return 2 * wanted + 2 * vectorSelectionStep + writtenBehind; }
void selectFirstInVectors(const char *array, int elementBytes, const SortKey &key, int64_t n, int64_t wanted,
                          uint64_t *words, uint64_t *spare) {
  int64_t count = 0;
  uint32_t bound = UINT32_MAX;
  bool none = false; // whether no further key can be among the best
  for (int64_t begin = 0; begin < n && !none; begin += vectorSelectionBlock) {
    const int64_t size = std::min(vectorSelectionBlock, n - begin);
    uint32_t keys[vectorSelectionBlock];
    vectorEncode(array + begin * elementBytes, elementBytes, size, key, keys);
    if (begin == 0)
      bound = vectorBound(keys, size, wanted);
    for (int64_t i = 0; i < size && !none; i += vectorSelectionStep) {
      count += vectorSelect(keys + i, std::min(vectorSelectionStep, size - i), static_cast<uint32_t>(begin + i), bound,
                            words + count);
      if (count < 2 * wanted + vectorSelectionStep)
        continue;
      vectorSortWords(words, spare, count);
      count = wanted;
      const auto last = static_cast<uint32_t>(words[wanted - 1] >> 32); // equal keys that follow come after it
      none = last == 0;
      bound = last - 1;
    }
  }
  vectorSortWords(words, spare, count);
}

// From the last key to the first: each stable pass keeps the order of the ones before among equals.
void orderByKeys(const Problem &p, const Line &line, uint32_t *order, Carver &carver) {
  constexpr int64_t selectable = 8; // sorting all of a line costs about as much as selecting this part of it
  if (p.keys.count == 1 && p.wanted() <= p.n / selectable) {
    const SortKey &key = p.keys[0];
    withUnsigned(p.operands[key.operand].size, [&](auto u) {
      using U = decltype(u);
      using Record = std::conditional_t<sizeof(U) <= 4, PackedKey, WideKey>;
      constexpr bool fits = sizeof(U) <= 4;
      auto *records = carver.take<Record>(fits ? wordsFor(p.wanted()) : 2 * p.wanted() + selectionBlock);
      auto *spare = carver.take<uint64_t>(fits ? wordsFor(p.wanted()) : 0);
      if (carver.isCounting())
        return;
      if constexpr (fits) {
        if (hasVectorSort())
          selectFirstInVectors(line.inputs[key.operand], sizeof(U), key, p.n, p.wanted(), &records->word, spare);
        else
          selectFirst<Record, U>(line.inputs[key.operand], key, p.n, p.wanted(), records);
      } else {
        selectFirst<Record, U>(line.inputs[key.operand], key, p.n, p.wanted(), records);
      }
      for (int64_t i = 0; i < p.wanted(); ++i)
        order[i] = static_cast<uint32_t>(records[i].position());
    });
    return;
  }
  for (int64_t i = p.keys.count; i-- > 0;) {
    const SortKey &key = p.keys[i];
    const char *array = carver.isCounting() ? nullptr : line.inputs[key.operand];
    const bool isIdentity = i + 1 == p.keys.count;
    const int64_t mark = carver.mark();
    withUnsigned(p.operands[key.operand].size, [&](auto u) {
      using U = decltype(u);
      using Record = std::conditional_t<sizeof(U) <= 4, PackedKey, WideKey>;
      sortByKey<Record, U>(array, key, order, isIdentity, p.n, p.lineThreads, carver);
    });
    carver.releaseTo(mark);
  }
}

/// Whether one element of a line comes before another, by the program's comparator on pointers to their operands.
struct Comparison {
  const Problem &p;
  const Line &line;

  bool operator()(uint32_t a, uint32_t b) const {
    constexpr int64_t few = 16;
    if (p.operands.count > few)
      return ofMany(a, b);
    const void *pointers[2 * few];
    return compare(a, b, pointers);
  }

  __attribute__((noinline)) bool ofMany(uint32_t a, uint32_t b) const {
    return compare(a, b,
                   static_cast<const void **>(alloca(sizeof(void *) * static_cast<size_t>(2 * p.operands.count))));
  }

  bool compare(uint32_t a, uint32_t b, const void **pointers) const {
    const int64_t count = p.operands.count;
    for (int64_t o = 0; o < count; ++o) {
      pointers[o] = line.inputs[o] + static_cast<int64_t>(a) * p.operands[o].size;
      pointers[count + o] = line.inputs[o] + static_cast<int64_t>(b) * p.operands[o].size;
    }
    return (p.before(pointers, pointers + count) & 1) != 0;
  }
};

void orderByComparator(const Problem &p, const Line &line, uint32_t *order, Carver &carver) {
  if (!carver.isCounting())
    makeIdentity(order, p.n);
  const Comparison before{p, line};
  const merging::ComparisonSteps<uint32_t, Comparison> steps{before};
  mergeSort(order, p.n, p.lineThreads, steps, carver);
}

// ---- A single operand that is its own key --------------------------------------------------------------------------

// Whether equal keys are identical bits, so that the sorted keys tell the sorted elements.
template <typename U> bool keysAreElements(const char *array, int64_t n, const SortKey &key) {
  if (!isCanonical(key.order))
    return true;
  const U infinity = infinityBits<U>(key.order);
  bool special = false;
  for (int64_t i = 0; i < n; ++i) {
    const U bits = element<U>(array, i);
    special |= bits == signBit<U>() || static_cast<U>(bits & ~signBit<U>()) > infinity;
  }
  return !special;
}

/// Sorts codes of 8 bits: how many there are of each tells all.
void countSort(uint8_t *codes, int64_t n) {
  constexpr int values = 256, lanes = 4; // neighbouring elements are counted apart: equal ones would wait
  int64_t counts[lanes][values] = {};
  for (int64_t i = 0; i < n; ++i)
    ++counts[i % lanes][codes[i]];
  for (int value = 0; value < values; ++value) {
    int64_t count = 0;
    for (const auto &some : counts)
      count += some[value];
    std::memset(codes, value, static_cast<size_t>(count));
    codes += count;
  }
}

/// Sorts many codes of 16 bits by how many there are of each; does nothing when the carver counts.
void countSort(uint16_t *codes, int64_t n, Carver &carver) {
  constexpr int64_t values = 1 << 16, lanes = 2; // as above; there are fewer than 2^32 elements
  auto *counts = carver.take<uint32_t>(lanes * values);
  if (carver.isCounting())
    return;
  std::fill(counts, counts + lanes * values, 0);
  for (int64_t i = 0; i < n; ++i)
    ++counts[i % lanes * values + codes[i]];
  for (int64_t value = 0; value < values; ++value) {
    const int64_t count = static_cast<int64_t>(counts[value]) + counts[values + value];
    codes = std::fill_n(codes, count, static_cast<uint16_t>(value));
  }
}

/// Sorts codes of 16 bits as words of a vector register; does nothing when the carver counts.
void sortWidened(uint16_t *codes, int64_t n, int threads, Carver &carver) {
  auto *wide = carver.take<uint32_t>(n);
  if (!carver.isCounting())
    std::copy(codes, codes + n, wide);
  mergeSort(wide, n, threads, VectorSteps<uint32_t>{}, carver);
  for (int64_t i = 0; i < n && !carver.isCounting(); ++i)
    codes[i] = static_cast<uint16_t>(wide[i]);
}

/// Sorts codes in place, or into memory of the carver; does nothing when that counts.
template <typename U> const U *sortCodes(U *codes, int64_t n, int threads, Carver &carver) {
  constexpr int64_t few = 24, many = 1 << 16; // elements: sorted by comparisons, by counts of words
  if constexpr (sizeof(U) == 1) {
    if (n > few) {
      if (!carver.isCounting())
        countSort(codes, n);
      return codes;
    }
  } else if constexpr (sizeof(U) == 2) {
    if (n >= many) {
      countSort(codes, n, carver);
      return codes;
    }
    if (n > few && hasVectorSort()) {
      sortWidened(codes, n, threads, carver);
      return codes;
    }
  }
  auto *keys = reinterpret_cast<BareKey<U> *>(codes);
  const auto *sorted = sortRecords(keys, n, static_cast<int>(sizeof(U)) * 8, threads, carver);
  return carver.isCounting() ? codes : &sorted->key;
}

/// Elements that differ though their keys are equal: zeros and NaNs, each in the order that they come in. The keys tell
/// where they go, not which is which.
template <typename U> struct Alike {
  U *zeros; // NaNs come from the end, the last one first
  int64_t n;
  int64_t zeroCount = 0, nanCount = 0;

  void keep(const char *array, const SortKey &key) {
    const U infinity = infinityBits<U>(key.order);
    for (int64_t i = 0; i < n; ++i) {
      const U bits = element<U>(array, i);
      const U magnitude = static_cast<U>(bits & ~signBit<U>());
      if (magnitude == 0)
        zeros[zeroCount++] = bits;
      else if (magnitude > infinity)
        zeros[n - ++nanCount] = bits;
    }
  }

  /// Where those that are like an element begin among sorted codes.
  int64_t placeOf(U bits, const U *codes, const SortKey &key) const {
    return std::lower_bound(codes, codes + n, encode(bits, key)) - codes;
  }

  void put(int64_t zeroPlace, int64_t nanPlace, char *array) const {
    std::memcpy(array + zeroPlace * static_cast<int64_t>(sizeof(U)), zeros, static_cast<size_t>(zeroCount) * sizeof(U));
    for (int64_t i = 0; i < nanCount; ++i)
      std::memcpy(array + (nanPlace + i) * static_cast<int64_t>(sizeof(U)), &zeros[n - 1 - i], sizeof(U));
  }
};

/// Sorts the elements of a line by themselves; does nothing when the carver counts.
template <typename U> void sortElements(const Problem &p, const Line &line, Carver &carver) {
  const SortKey &key = p.keys[0];
  Alike<U> alike{carver.take<U>(isCanonical(key.order) ? p.n : 0), p.n};
  if (carver.isCounting()) {
    sortCodes<U>(nullptr, p.n, p.lineThreads, carver);
    return;
  }
  if (!keysAreElements<U>(line.inputs[0], p.n, key))
    alike.keep(line.inputs[0], key); // before they are overwritten
  auto *codes = reinterpret_cast<U *>(line.outputs[0]);
  encodeMany<U>(line.inputs[0], p.n, key, codes);
  const U *sorted = sortCodes(codes, p.n, p.lineThreads, carver);
  const int64_t zeroPlace = alike.zeroCount ? alike.placeOf(0, sorted, key) : 0;
  const int64_t nanPlace = alike.nanCount ? alike.placeOf(static_cast<U>(~signBit<U>()), sorted, key) : 0;
  decodeMany<U>(sorted, p.n, key, line.outputs[0]);
  alike.put(zeroPlace, nanPlace, line.outputs[0]);
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

void findOrder(const Problem &p, const Line &line, uint32_t *order, Carver &carver) {
  const int64_t mark = carver.mark();
  (p.before ? orderByComparator : orderByKeys)(p, line, order, carver);
  carver.releaseTo(mark);
}

/// Moves one operand's elements to their places.
void moveOperand(const Problem &p, const Operand &operand, const char *from, char *to, const uint32_t *order,
                 Carver &carver) {
  const int64_t mark = carver.mark();
  if (carver.isCounting() || from == to) { // in place: move from a copy
    char *copy = carver.take<char>(p.n * operand.size);
    if (carver.isCounting())
      return carver.releaseTo(mark);
    std::memcpy(copy, from, static_cast<size_t>(p.n * operand.size));
    from = copy;
  }
  gather(from, to, operand.size, order, p.wanted());
  carver.releaseTo(mark);
}

void sortLine(const Problem &p, const Line &line, Carver &carver) {
  const int64_t start = carver.mark();
  if (!p.before && p.operands.count == 1 && p.keys.count == 1 && p.wanted() == p.n && p.operands[0].output) {
    withUnsigned(p.operands[0].size, [&](auto u) { sortElements<decltype(u)>(p, line, carver); });
    carver.releaseTo(start);
    return;
  }
  const int64_t own = p.orderOperand();
  auto *order = carver.take<uint32_t>(own < 0 ? p.n : 0);
  if (own >= 0 && !carver.isCounting())
    order = reinterpret_cast<uint32_t *>(line.outputs[own]);
  findOrder(p, line, order, carver);
  for (int64_t o = 0; o < p.operands.count; ++o) {
    const Operand &operand = p.operands[o];
    if (!operand.output || o == own)
      continue;
    if (operand.input)
      moveOperand(p, operand, carver.isCounting() ? nullptr : line.inputs[o],
                  carver.isCounting() ? nullptr : line.outputs[o], order, carver);
    else if (!carver.isCounting())
      storePositions(line.outputs[o], operand.size, order, p.wanted());
  }
  carver.releaseTo(start);
}

// Moves `count` elements of `lines` neighbouring strided lines to or from contiguous lines of n.
template <bool toLines, typename T>
void transposeLines(char *strided, char *contiguous, int64_t n, int64_t count, int64_t inner, int64_t lines) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < lines; ++j) {
      char *outside = strided + (i * inner + j) * static_cast<int64_t>(sizeof(T));
      char *inside = contiguous + (j * n + i) * static_cast<int64_t>(sizeof(T));
      std::memcpy(toLines ? inside : outside, toLines ? outside : inside, sizeof(T));
    }
}

template <bool toLines>
void transposeLines(int size, char *strided, char *contiguous, int64_t n, int64_t count, int64_t inner, int64_t lines) {
  if (size == 16)
    return transposeLines<toLines, Bytes16>(strided, contiguous, n, count, inner, lines);
  withUnsigned(size,
               [&](auto u) { transposeLines<toLines, decltype(u)>(strided, contiguous, n, count, inner, lines); });
}

/// What one piece of the work needs, besides the memory that sorting a line takes: laid out by its constructor.
struct Piece {
  Piece(const Problem &p, Carver &carver)
      : inputs(carver.take<const char *>(p.operands.count)), outputs(carver.take<char *>(p.operands.count)),
        lines(carver.take<char *>(p.operands.count)) {
    if (p.inner == 1)
      return;
    for (int64_t o = 0; o < p.operands.count; ++o) {
      char *memory = carver.take<char>(p.group * p.n * p.operands[o].size);
      if (lines)
        lines[o] = memory;
    }
  }

  const char **inputs;
  char **outputs;
  char **lines; // strided lines made contiguous
};

void sortContiguousLine(const Problem &p, int64_t index, const Piece &piece, Carver &carver) {
  for (int64_t o = 0; o < p.operands.count; ++o) {
    piece.inputs[o] = p.operands[o].inputAt(index * p.n);
    piece.outputs[o] = p.operands[o].outputAt(index * p.wanted());
  }
  sortLine(p, {piece.inputs, piece.outputs}, carver);
}

void sortStridedLines(const Problem &p, int64_t outer, int64_t first, int64_t lines, const Piece &piece,
                      Carver &carver) {
  for (int64_t o = 0; o < p.operands.count; ++o) {
    const Operand &operand = p.operands[o];
    if (const char *input = operand.inputAt(outer * p.n * p.inner + first))
      transposeLines<true>(operand.size, const_cast<char *>(input), piece.lines[o], p.n, p.n, p.inner, lines);
  }
  for (int64_t j = 0; j < lines; ++j) {
    for (int64_t o = 0; o < p.operands.count; ++o) {
      char *elements = piece.lines[o] + j * p.n * p.operands[o].size;
      piece.inputs[o] = p.operands[o].input ? elements : nullptr;
      piece.outputs[o] = p.operands[o].output ? elements : nullptr;
    }
    sortLine(p, {piece.inputs, piece.outputs}, carver);
  }
  for (int64_t o = 0; o < p.operands.count; ++o) {
    const Operand &operand = p.operands[o];
    if (char *output = operand.outputAt(outer * p.wanted() * p.inner + first))
      transposeLines<false>(operand.size, output, piece.lines[o], p.n, p.wanted(), p.inner, lines);
  }
}

int64_t groupsPerOuter(const Problem &p) { return (p.inner + p.group - 1) / p.group; }

void sortUnits(void **args, int64_t begin, int64_t end) {
  const Problem &p = *static_cast<const Problem *>(args[0]);
  const Slots::Lease lease(*static_cast<Slots *>(args[1]));
  Carver carver(lease.data());
  const Piece piece(p, carver);
  for (int64_t unit = begin; unit < end; ++unit) {
    if (p.inner == 1) {
      sortContiguousLine(p, unit, piece, carver);
      continue;
    }
    const int64_t first = unit % groupsPerOuter(p) * p.group;
    sortStridedLines(p, unit / groupsPerOuter(p), first, std::min(p.group, p.inner - first), piece, carver);
  }
}

int64_t pieceBytes(const Problem &p) {
  Carver counting;
  const Piece piece(p, counting);
  sortLine(p, {}, counting);
  return counting.bytes();
}

/// Sorts, or counts the memory that takes.
void sortAll(Problem &p, Carver &carver) {
  if (p.outer == 0 || p.n == 0 || p.inner == 0 || p.wanted() == 0 || p.operands.count == 0)
    return;
  int64_t bytes = 0;
  for (const Operand &operand : p.operands)
    bytes += operand.size;
  constexpr int64_t groupBytes = 1 << 20, groupLimit = 16;
  p.group = std::clamp<int64_t>(groupBytes / (p.n * bytes), 1, std::min(groupLimit, p.inner));
  const int64_t units = p.inner == 1 ? p.outer : p.outer * groupsPerOuter(p);
  p.lineThreads = units < p.threads ? p.threads : 1;
  constexpr int64_t elementsPerPiece = 2048;
  const int64_t grain = std::max<int64_t>(1, elementsPerPiece / (p.n * p.group));
  const int64_t pieces = p.lineThreads > 1 ? 1 : std::min<int64_t>(p.threads, (units + grain - 1) / grain);
  Slots slots(carver, pieceBytes(p), pieces);
  void *args[] = {&p, &slots};
  if (carver.isCounting())
    return;
  if (p.lineThreads > 1)
    sortUnits(args, 0, units);
  else
    parallelFor(slots.count, sortUnits, args, units, grain);
}

const char *faultOf(const Problem &p) {
  if (p.outer < 0 || p.n < 0 || p.inner < 0 || p.n > UINT32_MAX)
    return "sort: sizes are out of range";
  for (const Operand &operand : p.operands)
    if (operand.size != 1 && operand.size != 2 && operand.size != 4 && operand.size != 8 && operand.size != 16)
      return "sort: elements must have 1, 2, 4, 8 or 16 bytes";
  return nullptr;
}

bool isValidKey(const SortKey &key, const Problem &p) {
  if (key.operand < 0 || key.operand >= p.operands.count)
    return false;
  const Operand &operand = p.operands[key.operand];
  const bool isFloat = key.order == HLO_SORT_FLOAT_TOTAL || key.order == HLO_SORT_FLOAT_CANONICAL;
  return operand.input && operand.size <= 8 && key.order >= HLO_SORT_SIGNED && key.order <= HLO_SORT_BFLOAT_CANONICAL &&
         (!isFloat || operand.size > 1) && (key.order != HLO_SORT_BFLOAT_CANONICAL || operand.size == 2);
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

/// A call's numbers, with those of hlo_rt_sort_keys; keys are none for a comparator.
struct Numbers {
  const int64_t *parameters;
  int64_t first;
  HloCompareFn before;

  int64_t operands() const { return parameters[0]; }
  int64_t keys() const { return before ? 0 : parameters[4]; }
  int64_t tableBytes() const {
    Carver counting;
    tables(counting, nullptr);
    return counting.bytes();
  }

  /// The operands and keys of the problem.
  std::pair<Span<Operand>, Span<SortKey>> tables(Carver &carver, void *const *buffers) const {
    auto operandTable = takeSpan<Operand>(carver, operands());
    auto keyTable = takeSpan<SortKey>(carver, keys());
    if (carver.isCounting())
      return {operandTable, keyTable};
    const int64_t *sizes = parameters + 5, *numbers = sizes + operands();
    for (int64_t o = 0; o < operands(); ++o)
      operandTable[o] = {static_cast<const char *>(buffers[o]), static_cast<char *>(buffers[operands() + o]),
                         static_cast<int>(sizes[o])};
    for (int64_t i = 0; i < keys(); ++i, numbers += 3)
      keyTable[i] = {static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), numbers[2] != 0};
    return {operandTable, keyTable};
  }

  Problem problem(int threads, Carver &carver, void *const *buffers) const {
    const auto [operandTable, keyTable] = tables(carver, buffers);
    Problem p{threads, parameters[1], parameters[2], parameters[3], operandTable, keyTable, before};
    p.first = first;
    return p;
  }

  const char *fault(const Problem &p) const {
    if (const char *message = faultOf(p))
      return message;
    if (before)
      return nullptr;
    if (p.keys.count == 0)
      return "sort: there is no key";
    for (const SortKey &key : p.keys)
      if (!isValidKey(key, p))
        return "sort: a key has no such operand, order or element size";
    return nullptr;
  }
};

int32_t sort(const HloRuntime *runtime, const Numbers &numbers, void *const *buffers, void *scratch, int64_t bytes) {
  try {
    const int64_t tableBytes = numbers.tableBytes(), rest = std::max<int64_t>(bytes - tableBytes, 0);
    const Workspace tableMemory(scratch, bytes, tableBytes);
    Carver tables(tableMemory.data()), counting;
    Problem p = numbers.problem(runtime->threads, tables, buffers);
    if (const char *message = numbers.fault(p))
      return fail(runtime, HLO_ERROR, message);
    sortAll(p, counting);
    const Workspace workspace(rest > 0 ? static_cast<char *>(scratch) + tableBytes : nullptr, rest, counting.bytes());
    Carver carver(workspace.data());
    sortAll(p, carver);
    return HLO_OK;
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "sort: out of memory");
  }
}

int64_t scratchBytes(int threads, const Numbers &numbers, void *const *buffers) {
  const Workspace tableMemory(nullptr, 0, numbers.tableBytes());
  Carver tables(tableMemory.data()), counting;
  Problem p = numbers.problem(threads, tables, buffers);
  if (numbers.fault(p))
    return 0;
  counting.take<char>(numbers.tableBytes());
  sortAll(p, counting);
  return counting.bytes();
}

uint8_t noComparator(const void *const *, const void *const *) { return 0; }

int64_t firstOf(const int64_t *parameters) { return std::max<int64_t>(parameters[0], 0); }

} // namespace

int64_t sortScratchBytes(int threads, void *const *buffers, const int64_t *parameters) {
  return scratchBytes(threads, {parameters, -1, noComparator}, buffers);
}

int64_t sortKeysScratchBytes(int threads, void *const *buffers, const int64_t *parameters) {
  return scratchBytes(threads, {parameters, -1, nullptr}, buffers);
}

int64_t sortFirstScratchBytes(int threads, void *const *buffers, const int64_t *parameters) {
  return scratchBytes(threads, {parameters + 1, firstOf(parameters), nullptr}, buffers);
}

} // namespace hlo::runtime

using namespace hlo::runtime;

int32_t hlo_rt_sort(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                    int64_t scratchBytes, HloCompareFn before) {
  return sort(runtime, {parameters, -1, before}, buffers, scratch, scratchBytes);
}

int32_t hlo_rt_sort_keys(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                         int64_t scratchBytes) {
  return sort(runtime, {parameters, -1, nullptr}, buffers, scratch, scratchBytes);
}

int32_t hlo_rt_sort_first(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, void *scratch,
                          int64_t scratchBytes) {
  return sort(runtime, {parameters + 1, firstOf(parameters), nullptr}, buffers, scratch, scratchBytes);
}
