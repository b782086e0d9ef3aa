// cp.async: copies from global to shared memory that take effect when they are waited for, and not before, so that a
// missing wait shows.

#include "transfers.h"

#include <algorithm>

namespace hlo::emulator {

namespace {

void finish(Warp &warp, const AsyncCopy &copy) {
  Memory &memory = *warp.block->memory;
  char data[16] = {};
  if (copy.sourceBytes)
    std::memcpy(data, reinterpret_cast<const char *>(copy.source), copy.sourceBytes);
  Actor actor = warp.actor(copy.lane, copy.line);
  memory.setPending(copy.destination, copy.bytes, false);
  char *to = memory.shared(copy.destination, copy.bytes, Access::Write, actor, nullptr);
  std::memcpy(to, data, copy.bytes);
}

/// Finishes the copies of active lanes for which `over(copy)` holds.
template <typename F> void finishWhere(Warp &warp, const Instruction &i, Mask active, F over) {
  std::vector<AsyncCopy> left;
  std::vector<AsyncCopy> done;
  for (const AsyncCopy &copy : warp.copies)
    (active >> copy.lane & 1 && over(copy) ? done : left).push_back(copy);
  warp.copies = std::move(left);
  for (const AsyncCopy &copy : done)
    located(warp, i, Mask{1} << copy.lane, [&](int) { finish(warp, copy); });
}

/// Operands: destination, source, and, if not all bytes are copied, their number; the rest is zeroed. The halves of the
/// immediate are added to the addresses, the lower one to the destination.
void issue(Warp &warp, const Instruction &i, Mask active) {
  const Detail detail = detailOf(i);
  Memory &memory = *warp.block->memory;
  located(warp, i, active, [&](int lane) {
    AsyncCopy copy;
    copy.lane = lane;
    copy.group = warp.group[lane];
    copy.destination = laneAddress(warp, i.operands[0], static_cast<int32_t>(i.immediate), lane);
    if (copy.destination >= SharedWindow && copy.destination < SharedWindow + WindowBytes)
      copy.destination -= SharedWindow;
    copy.bytes = detail.bytes;
    copy.source = laneAddress(warp, i.operands[1], static_cast<int32_t>(i.immediate >> 32), lane);
    copy.sourceBytes = i.operandCount > 2 ? warp.values<uint32_t>(i.operands[2])[lane] : detail.bytes;
    copy.line = i.line;
    if (copy.sourceBytes > copy.bytes)
      throw Fault("bounds", "copies " + std::to_string(copy.sourceBytes) + " bytes of " + std::to_string(copy.bytes));
    const Actor actor = warp.actor(lane, i.line);
    if (copy.source % copy.bytes)
      throw Fault("alignment", "copies from an address that is no multiple of " + std::to_string(copy.bytes));
    for (uint32_t done = 0; done < copy.sourceBytes;) { // the source is not always a power of two long
      uint32_t piece = 16;
      while (piece > copy.sourceBytes - done)
        piece /= 2;
      memory.global(copy.source + done, piece, Access::Read, actor);
      done += piece;
    }
    // Others may still be reading what is there: the write may come at any time from now on.
    memory.shared(copy.destination, copy.bytes, Access::Write, actor);
    memory.setPending(copy.destination, copy.bytes, true);
    warp.copies.push_back(copy);
  });
}

void commit(Warp &warp, const Instruction &, Mask active) {
  forEach(active, [&](int lane) { ++warp.group[lane]; });
}

void waitGroup(Warp &warp, const Instruction &i, Mask active) {
  finishWhere(warp, i, active, [&](const AsyncCopy &copy) {
    return static_cast<int64_t>(copy.group) < static_cast<int64_t>(warp.group[copy.lane]) - i.immediate;
  });
}

void waitAll(Warp &warp, const Instruction &i, Mask active) {
  finishWhere(warp, i, active, [](const AsyncCopy &) { return true; });
}

} // namespace

void addAsynchronous(HandlerTable &t) {
  t["cp.async"] = issue;
  t["cp.async.commit_group"] = commit;
  t["cp.async.wait_group"] = waitGroup;
  t["cp.async.wait_all"] = waitAll;
}

} // namespace hlo::emulator
