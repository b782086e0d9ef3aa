// Sorting along a dimension, and top-k: see kernel_abi.h for the interface.
//
// A line (the elements along the sorted dimension) is sorted by finding its permutation from keys alone and then moving
// each operand once. Lines that are strided in memory are taken in small groups, so that a cache line is read once.

#include "../kernel_abi.h"
#include "../runtime.h"
#include "../scratch.h"
#include "merge_sort.h"
#include "radix_sort.h"
#include "sort_keys.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

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

struct Problem {
  const HloRuntime *runtime;
  std::vector<Operand> operands;
  int64_t outer, n, inner;
  std::vector<SortKey> keys;     // when sorting by keys
  HloCompareFn before = nullptr; // when sorting by a comparator
  int64_t group = 1;             // neighbouring strided lines taken together
  int lineThreads = 1;           // threads one line may use
  int64_t first = -1;            // how many elements of each sorted line results hold; all if negative

  int64_t wanted() const { return first < 0 || first > n ? n : first; }
};

// ---- Permutations --------------------------------------------------------------------------------------------------

/// A line in contiguous memory: one array per operand.
struct Line {
  std::vector<const char *> inputs;
  std::vector<char *> outputs;
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

/// Reorders `order` stably by one key.
template <typename Record, typename U>
void sortByKey(const char *array, const SortKey &key, uint32_t *order, bool isIdentity, int64_t n, int threads) {
  Scratch scratch;
  auto *records = scratch.get<Record>(n), *spare = scratch.get<Record>(n);
  constexpr int64_t block = 256;
  U codes[block];
  for (int64_t begin = 0; begin < n && isIdentity; begin += block) {
    const int64_t size = std::min(block, n - begin);
    encodeMany<U>(array + begin * static_cast<int64_t>(sizeof(U)), size, key, codes);
    for (int64_t i = 0; i < size; ++i)
      records[begin + i] = Record::make(codes[i], static_cast<uint64_t>(begin + i));
  }
  for (int64_t i = 0; i < n && !isIdentity; ++i)
    records[i] = Record::make(encode(element<U>(array, order[i]), key), static_cast<uint64_t>(i));
  const Record *sorted = sortRecords(records, spare, n, static_cast<int>(sizeof(U)) * 8, threads);
  if (isIdentity) {
    for (int64_t i = 0; i < n; ++i)
      order[i] = static_cast<uint32_t>(sorted[i].position());
    return;
  }
  auto *previous = scratch.get<uint32_t>(n);
  std::copy(order, order + n, previous);
  for (int64_t i = 0; i < n; ++i)
    order[i] = previous[sorted[i].position()];
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

// From the last key to the first: each stable pass keeps the order of the ones before among equals.
void orderByKeys(const Problem &p, const Line &line, uint32_t *order) {
  constexpr int64_t selectable = 8; // sorting all of a line costs about as much as selecting this part of it
  if (p.keys.size() == 1 && p.wanted() <= p.n / selectable) {
    const SortKey &key = p.keys[0];
    Scratch scratch;
    withUnsigned(p.operands[static_cast<size_t>(key.operand)].size, [&](auto u) {
      using U = decltype(u);
      using Record = std::conditional_t<sizeof(U) <= 4, PackedKey, WideKey>;
      auto *records = scratch.get<Record>(2 * p.wanted() + selectionBlock);
      selectFirst<Record, U>(line.inputs[static_cast<size_t>(key.operand)], key, p.n, p.wanted(), records);
      for (int64_t i = 0; i < p.wanted(); ++i)
        order[i] = static_cast<uint32_t>(records[i].position());
    });
    return;
  }
  for (size_t i = p.keys.size(); i-- > 0;) {
    const SortKey &key = p.keys[i];
    const char *array = line.inputs[static_cast<size_t>(key.operand)];
    const bool isIdentity = i + 1 == p.keys.size();
    withUnsigned(p.operands[static_cast<size_t>(key.operand)].size, [&](auto u) {
      using U = decltype(u);
      using Record = std::conditional_t<sizeof(U) <= 4, PackedKey, WideKey>;
      sortByKey<Record, U>(array, key, order, isIdentity, p.n, p.lineThreads);
    });
  }
}

void orderByComparator(const Problem &p, const Line &line, uint32_t *order) {
  const size_t count = p.operands.size();
  for (int64_t i = 0; i < p.n; ++i)
    order[i] = static_cast<uint32_t>(i);
  Scratch scratch;
  const auto before = [&](uint32_t a, uint32_t b) {
    constexpr size_t inlineCount = 16;
    const void *local[2 * inlineCount];
    std::unique_ptr<const void *[]> heap(count > inlineCount ? new const void *[2 * count] : nullptr);
    const void **lhs = heap ? heap.get() : local, **rhs = lhs + count;
    for (size_t o = 0; o < count; ++o) {
      lhs[o] = line.inputs[o] + static_cast<int64_t>(a) * p.operands[o].size;
      rhs[o] = line.inputs[o] + static_cast<int64_t>(b) * p.operands[o].size;
    }
    return (p.before(lhs, rhs) & 1) != 0;
  };
  const merging::ComparisonSteps<uint32_t, decltype(before)> steps{before};
  mergeSort(order, scratch.get<uint32_t>(p.n), p.n, p.lineThreads, steps);
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

template <typename U> bool sortElements(const Problem &p, const Line &line) {
  const SortKey key = p.keys[0];
  if (!keysAreElements<U>(line.inputs[0], p.n, key))
    return false;
  Scratch scratch;
  auto *keys = scratch.get<BareKey<U>>(p.n), *spare = scratch.get<BareKey<U>>(p.n);
  encodeMany<U>(line.inputs[0], p.n, key, &keys->key);
  const BareKey<U> *sorted = sortRecords(keys, spare, p.n, static_cast<int>(sizeof(U)) * 8, p.lineThreads);
  decodeMany<U>(&sorted->key, p.n, key, line.outputs[0]);
  return true;
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

void sortLine(const Problem &p, const Line &line, Scratch &scratch, uint32_t *order) {
  if (!p.before && p.operands.size() == 1 && p.keys.size() == 1 && p.wanted() == p.n && p.operands[0].output) {
    bool done = false;
    withUnsigned(p.operands[0].size, [&](auto u) { done = sortElements<decltype(u)>(p, line); });
    if (done)
      return;
  }
  if (p.before)
    orderByComparator(p, line, order);
  else
    orderByKeys(p, line, order);
  for (size_t o = 0; o < p.operands.size(); ++o) {
    const char *from = line.inputs[o];
    const int size = p.operands[o].size;
    if (!line.outputs[o])
      continue;
    if (!from) {
      storePositions(line.outputs[o], size, order, p.wanted());
      continue;
    }
    if (from == line.outputs[o]) { // in place: move from a copy
      char *copy = scratch.get<char>(p.n * size);
      std::memcpy(copy, from, static_cast<size_t>(p.n * size));
      from = copy;
    }
    gather(from, line.outputs[o], size, order, p.wanted());
  }
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

void sortContiguousLine(const Problem &p, int64_t index, uint32_t *order) {
  Scratch scratch;
  Line line;
  for (const Operand &operand : p.operands) {
    line.inputs.push_back(operand.inputAt(index * p.n));
    line.outputs.push_back(operand.outputAt(index * p.wanted()));
  }
  sortLine(p, line, scratch, order);
}

void sortStridedLines(const Problem &p, int64_t outer, int64_t first, int64_t lines, uint32_t *order) {
  Scratch scratch;
  std::vector<char *> buffers;
  for (const Operand &operand : p.operands) {
    buffers.push_back(scratch.get<char>(lines * p.n * operand.size));
    if (const char *input = operand.inputAt(outer * p.n * p.inner + first))
      transposeLines<true>(operand.size, const_cast<char *>(input), buffers.back(), p.n, p.n, p.inner, lines);
  }
  for (int64_t j = 0; j < lines; ++j) {
    Line line;
    for (size_t o = 0; o < p.operands.size(); ++o) {
      char *elements = buffers[o] + j * p.n * p.operands[o].size;
      line.inputs.push_back(p.operands[o].input ? elements : nullptr);
      line.outputs.push_back(p.operands[o].output ? elements : nullptr);
    }
    Scratch temporary;
    sortLine(p, line, temporary, order);
  }
  for (size_t o = 0; o < p.operands.size(); ++o) {
    const Operand &operand = p.operands[o];
    if (char *output = operand.outputAt(outer * p.wanted() * p.inner + first))
      transposeLines<false>(operand.size, output, buffers[o], p.n, p.wanted(), p.inner, lines);
  }
}

int64_t groupsPerOuter(const Problem &p) { return (p.inner + p.group - 1) / p.group; }

void sortUnits(void **args, int64_t begin, int64_t end) {
  const Problem &p = *static_cast<const Problem *>(args[0]);
  try {
    Scratch scratch;
    auto *order = scratch.get<uint32_t>(p.n);
    for (int64_t unit = begin; unit < end; ++unit) {
      if (p.inner == 1) {
        sortContiguousLine(p, unit, order);
        continue;
      }
      const int64_t first = unit % groupsPerOuter(p) * p.group;
      sortStridedLines(p, unit / groupsPerOuter(p), first, std::min(p.group, p.inner - first), order);
    }
  } catch (const std::bad_alloc &) {
    hlo_rt_set_error(p.runtime, "sort: out of memory");
  }
}

int32_t sortAll(Problem &p) {
  if (p.outer < 0 || p.n < 0 || p.inner < 0 || p.n > UINT32_MAX)
    return fail(p.runtime, HLO_ERROR, "sort: sizes are out of range");
  int64_t bytes = 0;
  for (const Operand &operand : p.operands) {
    if (operand.size != 1 && operand.size != 2 && operand.size != 4 && operand.size != 8 && operand.size != 16)
      return fail(p.runtime, HLO_ERROR, "sort: elements must have 1, 2, 4, 8 or 16 bytes");
    bytes += operand.size;
  }
  if (p.outer == 0 || p.n == 0 || p.inner == 0 || p.operands.empty())
    return HLO_OK;
  constexpr int64_t groupBytes = 1 << 20, groupLimit = 16;
  p.group = std::clamp<int64_t>(groupBytes / (p.n * bytes), 1, std::min(groupLimit, p.inner));
  const int64_t units = p.inner == 1 ? p.outer : p.outer * groupsPerOuter(p);
  const int threads = p.runtime->threads;
  p.lineThreads = units < threads ? threads : 1;
  constexpr int64_t elementsPerPiece = 2048;
  const int64_t grain = std::max<int64_t>(1, elementsPerPiece / (p.n * p.group));
  void *args[] = {&p};
  if (p.lineThreads > 1)
    sortUnits(args, 0, units);
  else
    parallelFor(threads, sortUnits, args, units, grain);
  return p.runtime->failed ? HLO_ERROR_OUT_OF_MEMORY : HLO_OK;
}

void addOperands(Problem &p, void *const *buffers, int64_t count, const int64_t *sizes) {
  for (int64_t o = 0; o < count; ++o)
    p.operands.push_back(
        {static_cast<const char *>(buffers[o]), static_cast<char *>(buffers[count + o]), static_cast<int>(sizes[o])});
}

bool isValidKey(const SortKey &key, const Problem &p) {
  if (key.operand < 0 || static_cast<size_t>(key.operand) >= p.operands.size())
    return false;
  const int size = p.operands[static_cast<size_t>(key.operand)].size;
  const bool isFloat = key.order == HLO_SORT_FLOAT_TOTAL || key.order == HLO_SORT_FLOAT_CANONICAL;
  return p.operands[static_cast<size_t>(key.operand)].input && size <= 8 && key.order >= HLO_SORT_SIGNED &&
         key.order <= HLO_SORT_BFLOAT_CANONICAL && (!isFloat || size > 1) &&
         (key.order != HLO_SORT_BFLOAT_CANONICAL || size == 2);
}

} // namespace
} // namespace hlo::runtime

using namespace hlo::runtime;

int32_t hlo_rt_sort(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters, HloCompareFn before) {
  try {
    Problem p{runtime, {}, parameters[1], parameters[2], parameters[3], {}, before};
    addOperands(p, buffers, parameters[0], parameters + 5);
    return sortAll(p);
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "sort: out of memory");
  }
}

namespace {

int32_t sortKeys(const HloRuntime *runtime, void *const *buffers, int64_t first, const int64_t *parameters) {
  try {
    const int64_t operands = parameters[0], keys = parameters[4];
    Problem p{runtime, {}, parameters[1], parameters[2], parameters[3], {}};
    p.first = first;
    addOperands(p, buffers, operands, parameters + 5);
    for (int64_t i = 0; i < keys; ++i) {
      const int64_t *numbers = parameters + 5 + operands + 3 * i;
      const SortKey key{static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), numbers[2] != 0};
      if (!isValidKey(key, p))
        return fail(runtime, HLO_ERROR, "sort: a key has no such operand, order or element size");
      p.keys.push_back(key);
    }
    if (p.keys.empty())
      return fail(runtime, HLO_ERROR, "sort: there is no key");
    return p.wanted() == 0 ? HLO_OK : sortAll(p);
  } catch (const std::bad_alloc &) {
    return fail(runtime, HLO_ERROR_OUT_OF_MEMORY, "sort: out of memory");
  }
}

} // namespace

int32_t hlo_rt_sort_keys(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters) {
  return sortKeys(runtime, buffers, -1, parameters);
}

int32_t hlo_rt_sort_first(const HloRuntime *runtime, void *const *buffers, const int64_t *parameters) {
  return sortKeys(runtime, buffers, std::max<int64_t>(parameters[0], 0), parameters + 1);
}
