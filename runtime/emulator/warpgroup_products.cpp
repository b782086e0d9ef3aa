// wgmma: products that a warpgroup begins, and that each of its warps waits for.
//
// Until a warp has waited its registers hold tokens in place of sums; tokens may be moved and be given to the next
// product, anything else done to them shows in the results. Tiles are read when a product begins and again when it is
// waited for: it may read them at any time between.

#include "transfers.h"

#include <algorithm>

namespace hlo::emulator {

namespace {

constexpr uint32_t TokenBits = 0x7FA00000, TokenMask = 0xFFF00000; // a signaling NaN: no operation gives it
constexpr uint32_t Serials = 128;
constexpr int GroupWarps = 4;

uint32_t token(uint32_t serial, int sum, int lane) {
  return TokenBits | serial % Serials << 13 | static_cast<uint32_t>(sum) << 5 | static_cast<uint32_t>(lane);
}

/// The product of this warp that a word is a token of, or none.
const WarpgroupProduct *productOf(const std::vector<WarpgroupProduct> &products, uint32_t word) {
  if ((word & TokenMask) != TokenBits)
    return nullptr;
  for (const WarpgroupProduct &product : products)
    if (product.serial % Serials == (word >> 13 & (Serials - 1)) &&
        static_cast<int>(word >> 5 & 0xFF) < product.how.registers())
      return &product;
  return nullptr;
}

uint32_t sumOf(const WarpgroupProduct &product, uint32_t word) {
  return product.sums[(word >> 5 & 0xFF) * Lanes + (word & 31)];
}

/// Shared memory as a product reads it.
Pieces piecesFor(Warp &warp, int32_t line) {
  const Actor actor = warp.asyncActor(0, line);
  Memory *memory = warp.block->memory;
  return [actor, memory](uint32_t address) -> const char * { return memory->shared(address, 16, Access::Read, actor); };
}

template <typename T> T uniform(Warp &warp, const Instruction &i, const Operand &operand) {
  const T *values = warp.values<T>(operand);
  for (int lane = 1; lane < Lanes; ++lane)
    if (values[lane] != values[0])
      warp.block->fault("collective", warp, lane, i.line, "multiplies other tiles than lane 0 of its warp");
  return values[0];
}

/// All four warps of a warpgroup begin the same products in the same order.
void noteBegun(Warp &warp, const Instruction &i, const BegunProduct &begun) {
  std::vector<BegunProduct> &order = warp.block->begun[warp.index / GroupWarps];
  if (order.size() == warp.productsBegun)
    order.push_back(begun);
  else if (!(order[warp.productsBegun] == begun))
    warp.block->fault("collective", warp, 0, i.line, "begins another product than other warps of its warpgroup");
  ++warp.productsBegun;
}

/// Operands: the sums, the left factors or their descriptor, a descriptor, whether to add. The immediate is the packed
/// instruction.
void begin(Warp &warp, const Instruction &i, Mask active) {
  if (active != AllLanes || (warp.index / GroupWarps + 1) * GroupWarps > static_cast<int>(warp.block->warps.size()))
    warp.block->fault("collective", warp, 0, i.line, "multiplies with less than a warpgroup of four warps");
  if (!warp.productsFenced)
    warp.block->fault("async", warp, 0, i.line, "begins a product with no wgmma.fence since the last group");
  WarpgroupProduct made;
  made.how = unpackWarpgroupMultiply(static_cast<uint64_t>(i.immediate));
  const int count = made.how.registers();
  const int words = made.how.held ? WarpgroupMultiply::Words : 1;
  made.left = made.how.held ? 0 : uniform<uint64_t>(warp, i, i.operands[count]);
  for (int r = 0; made.how.held && r < words; ++r) {
    const uint32_t *factors = warp.values<uint32_t>(i.operands[count + r]);
    made.held.insert(made.held.end(), factors, factors + Lanes);
  }
  made.right = uniform<uint64_t>(warp, i, i.operands[count + words]);
  const Mask adds = warp.predicate(i.operands[count + words + 1]);
  made.accumulate = adds & 1;
  made.line = i.line;
  made.group = warp.productGroup;
  made.serial = warp.productsBegun;
  noteBegun(warp, i, {i.line, made.left, made.right});
  located(warp, i, 1, [&](int) {
    if (!made.how.held)
      checkDescriptor(made.left);
    checkDescriptor(made.right);
    touchPieces(made.how, warp.index % GroupWarps, made.left, made.right, piecesFor(warp, i.line));
  });
  made.sums.resize(static_cast<size_t>(count) * Lanes);
  for (int r = 0; r < count; ++r) {
    uint32_t *held = warp.lanes<uint32_t>(i.operands[r]);
    for (int lane = 0; lane < Lanes; ++lane) {
      made.sums[r * Lanes + lane] = held[lane];
      held[lane] = token(made.serial, r, lane);
    }
  }
  warp.products.push_back(std::move(made));
}

void fence(Warp &warp, const Instruction &, Mask) { warp.productsFenced = true; }

void commit(Warp &warp, const Instruction &, Mask) {
  ++warp.productGroup;
  warp.productsFenced = false;
}

/// Finishes the products of all but the last groups (the immediate), and puts their sums where tokens are.
void waitGroup(Warp &warp, const Instruction &i, Mask) {
  const int64_t last = static_cast<int64_t>(warp.productGroup) - i.immediate;
  size_t done = 0;
  for (; done < warp.products.size() && warp.products[done].group < last; ++done) {
    WarpgroupProduct &product = warp.products[done];
    for (uint32_t &word : product.sums)
      if (const WarpgroupProduct *before = productOf(warp.products, word))
        word = sumOf(*before, word);
    located(warp, i, 1, [&](int) {
      multiplyWarpgroup(product.how, warp.index % GroupWarps, product.left, product.right,
                        piecesFor(warp, product.line), product.held.data(), product.sums.data(), product.accumulate);
    });
  }
  const std::vector<WarpgroupProduct> over(std::make_move_iterator(warp.products.begin()),
                                           std::make_move_iterator(warp.products.begin() + static_cast<long>(done)));
  warp.products.erase(warp.products.begin(), warp.products.begin() + static_cast<long>(done));
  if (over.empty())
    return;
  auto settle = [&](uint32_t &word) {
    if ((word & TokenMask) == TokenBits)
      if (const WarpgroupProduct *product = productOf(over, word))
        word = sumOf(*product, word);
  };
  for (WarpgroupProduct &product : warp.products)
    for (uint32_t &word : product.sums)
      settle(word);
  uint32_t *words = reinterpret_cast<uint32_t *>(warp.registers);
  for (size_t k = 0; k < static_cast<size_t>(warp.block->program->registerBytes) / 4; ++k)
    settle(words[k]);
}

} // namespace

bool isPendingSum(const Warp &warp, uint32_t word) { return productOf(warp.products, word) != nullptr; }

void addWarpgroups(HandlerTable &t) {
  t["wgmma"] = begin;
  t["wgmma.fence"] = fence;
  t["wgmma.commit_group"] = commit;
  t["wgmma.wait_group"] = waitGroup;
}

} // namespace hlo::emulator
