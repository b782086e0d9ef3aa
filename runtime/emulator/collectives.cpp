// Instructions that lanes of a warp execute together.

#include "lanes.h"

#include <algorithm>

namespace hlo::emulator {

namespace {

enum Shuffle { Up, Down, Butterfly, Index };

/// Operands: result, second result (in range; or the first again), value, lane, clamp, members.
template <Shuffle Mode> void shuffle(Warp &warp, const Instruction &i, Mask active) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[2]), *b = warp.values<uint32_t>(i.operands[3]),
                 *c = warp.values<uint32_t>(i.operands[4]), *members = warp.values<uint32_t>(i.operands[5]);
  uint32_t value[Lanes];
  Mask inRange = 0;
  forEach(active, [&](int lane) {
    const int clamp = static_cast<int>(c[lane] & 31), segment = static_cast<int>(c[lane] >> 8 & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    const int by = static_cast<int>(b[lane] & 31);
    int from = Mode == Up          ? lane - by
               : Mode == Down      ? lane + by
               : Mode == Butterfly ? lane ^ by
                                   : least | (by & ~segment);
    const bool in = Mode == Up ? from >= most : from <= most;
    if (!in)
      from = lane;
    if (!(members[lane] >> from & 1))
      warp.block->fault("collective", warp, lane, i.line,
                        "takes a value from lane " + std::to_string(from) + ", which the member mask does not name");
    // A lane beyond the block's last thread has no value; the device gives what its register happens to hold.
    value[lane] = active >> from & 1 ? a[from] : 0xA5A5A5A5u;
    inRange |= static_cast<Mask>(in) << lane;
  });
  if (i.flags & SecondResult)
    warp.setPredicate(i.operands[1], inRange, active);
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int l) { return value[l]; });
}

/// Lanes with the same member mask vote together.
template <typename F> void perGroup(Warp &warp, const Operand &members, Mask active, F f) {
  const uint32_t *masks = warp.values<uint32_t>(members);
  for (Mask rest = active; rest;) {
    const uint32_t mask = masks[__builtin_ctz(rest)];
    Mask group = 0;
    forEach(rest, [&](int l) { group |= static_cast<Mask>(masks[l] == mask) << l; });
    f(group);
    rest &= ~group;
  }
}

enum Vote { All, Any, Uniform, Ballot };

/// Operands: result, predicate, members. A guard of the vote (flag CombineNegated) negates the predicate.
template <Vote Mode> void vote(Warp &warp, const Instruction &i, Mask active) {
  const Mask asked = i.flags & CombineNegated ? ~warp.predicate(i.operands[1]) : warp.predicate(i.operands[1]);
  perGroup(warp, i.operands[2], active, [&](Mask group) {
    const Mask yes = asked & group;
    if constexpr (Mode == Ballot) {
      uint32_t *d = warp.lanes<uint32_t>(i.operands[0]);
      forEach(group, [&](int l) { d[l] = yes; });
    } else {
      const bool result = Mode == All ? yes == group : Mode == Any ? yes != 0 : yes == group || yes == 0;
      warp.setPredicate(i.operands[0], result ? AllLanes : 0, group);
    }
  });
}

/// Operands: result, second result, value, members.
template <typename T, bool All> void match(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[2]);
  perGroup(warp, i.operands[3], active, [&](Mask group) {
    uint32_t found[Lanes];
    forEach(group, [&](int l) {
      found[l] = 0;
      forEach(group, [&](int k) { found[l] |= static_cast<Mask>(a[k] == a[l]) << k; });
    });
    const bool same = found[__builtin_ctz(group)] == group;
    if (All && i.flags & SecondResult)
      warp.setPredicate(i.operands[1], same ? AllLanes : 0, group);
    uint32_t *d = warp.lanes<uint32_t>(i.operands[0]);
    forEach(group, [&](int l) { d[l] = All ? (same ? group : 0) : found[l]; });
  });
}

template <typename T, typename Op> void reduce(Warp &warp, const Instruction &i, Mask active) {
  const T *a = warp.values<T>(i.operands[1]);
  perGroup(warp, i.operands[2], active, [&](Mask group) {
    T result = a[__builtin_ctz(group)];
    forEach(group & (group - 1), [&](int l) { result = static_cast<T>(Op::of(result, a[l])); });
    T *d = warp.lanes<T>(i.operands[0]);
    forEach(group, [&](int l) { d[l] = result; });
  });
}
struct Add {
  template <typename T> static T of(T x, T y) { return x + y; }
};
struct Min {
  template <typename T> static T of(T x, T y) { return std::min(x, y); }
};
struct Max {
  template <typename T> static T of(T x, T y) { return std::max(x, y); }
};
struct And {
  template <typename T> static T of(T x, T y) { return x & y; }
};
struct Or {
  template <typename T> static T of(T x, T y) { return x | y; }
};
struct Xor {
  template <typename T> static T of(T x, T y) { return x ^ y; }
};

void activeMask(Warp &warp, const Instruction &i, Mask active) {
  assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int) { return active; });
}

/// What lanes did before is over for the others, of a warp that is all here.
void synchronize(Warp &warp, const Instruction &, Mask active) {
  if (active == warp.live)
    warp.tick();
}

/// One lane of the warp: the first. Operands: its number (width -1: not wanted), predicate, members.
void elect(Warp &warp, const Instruction &i, Mask active) {
  const int first = __builtin_ctz(active);
  if (i.operands[0].width > 0)
    assign(warp.lanes<uint32_t>(i.operands[0]), active, [&](int) { return static_cast<uint32_t>(first); });
  warp.setPredicate(i.operands[1], Mask{1} << first, active);
}

} // namespace

void addCollectives(HandlerTable &t) {
  t["shfl.up"] = shuffle<Up>, t["shfl.down"] = shuffle<Down>;
  t["shfl.bfly"] = shuffle<Butterfly>, t["shfl.idx"] = shuffle<Index>;
  t["vote.all"] = vote<All>, t["vote.any"] = vote<Any>, t["vote.uni"] = vote<Uniform>, t["vote.ballot"] = vote<Ballot>;
  t["match.any.b32"] = match<uint32_t, false>, t["match.any.b64"] = match<uint64_t, false>;
  t["match.all.b32"] = match<uint32_t, true>, t["match.all.b64"] = match<uint64_t, true>;
  t["redux.add.u32"] = t["redux.add.s32"] = reduce<uint32_t, Add>;
  t["redux.min.u32"] = reduce<uint32_t, Min>, t["redux.min.s32"] = reduce<int32_t, Min>;
  t["redux.max.u32"] = reduce<uint32_t, Max>, t["redux.max.s32"] = reduce<int32_t, Max>;
  t["redux.and.b32"] = reduce<uint32_t, And>, t["redux.or.b32"] = reduce<uint32_t, Or>;
  t["redux.xor.b32"] = reduce<uint32_t, Xor>;
  t["activemask"] = activeMask;
  t["bar.warp.sync"] = synchronize;
  t["elect"] = elect;
}

} // namespace hlo::emulator
