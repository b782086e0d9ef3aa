// Barriers in shared memory (mbarrier), and bulk copies of tiles that their phases wait for.
//
// A copy takes effect when a thread waits for the phase that counts its bytes, and not before, so that a missing wait
// shows; from when it begins others may not touch its tile.

#include "transfers.h"

namespace hlo::emulator {

namespace {

uint32_t sharedAddress(const Warp &warp, const Operand &operand, int64_t offset, int lane) {
  uint64_t address = laneAddress(warp, operand, offset, lane);
  if (address >= SharedWindow && address < SharedWindow + WindowBytes)
    address -= SharedWindow;
  return static_cast<uint32_t>(std::min<uint64_t>(address, UINT32_MAX));
}

PhaseBarrier &barrierAt(Warp &warp, uint32_t address) {
  auto found = warp.block->phaseBarriers.find(address);
  if (found == warp.block->phaseBarriers.end())
    throw Fault("barrier", "uses a barrier at offset " + std::to_string(static_cast<int64_t>(address) - SharedBase) +
                               " of shared memory, where none was made");
  return found->second;
}

/// Others learn that the barrier was made as they learn of any write.
PhaseBarrier &knownBarrier(Warp &warp, uint32_t address, const Actor &actor) {
  PhaseBarrier &barrier = barrierAt(warp, address);
  warp.block->memory->shared(address, 8, Access::Atomic, actor);
  return barrier;
}

void perform(Warp &warp, PhaseBarrier &barrier, const BulkCopy &copy) {
  Memory &memory = *warp.block->memory;
  const uint32_t bytes = copy.map.boxBytes();
  memory.setPending(copy.destination, bytes, false);
  readTile(
      copy.map, copy.coordinates, [](uint64_t address, uint32_t) { return reinterpret_cast<const char *>(address); },
      [&](uint32_t offset, const char *piece) {
        std::memcpy(memory.sharedWithoutNote(swizzled(copy.destination + offset), 16), piece, 16);
      });
  barrier.bytes -= bytes;
  // Who waits for the phase comes after the copy.
  barrier.clocks[copy.warp] = std::max(barrier.clocks[copy.warp], copy.clock);
}

void endPhase(PhaseBarrier &barrier) {
  ++barrier.phase;
  barrier.pending = barrier.expected;
  join(barrier.doneClocks, barrier.clocks);
  join(barrier.doneFences, barrier.fences);
}

/// Whether the phase of a parity is over; if only copies are missing they take effect.
bool isOver(Warp &warp, PhaseBarrier &barrier, uint32_t parity) {
  if ((barrier.phase & 1) != (parity & 1))
    return true;
  if (barrier.pending || barrier.copies.empty())
    return false;
  for (const BulkCopy &copy : barrier.copies)
    perform(warp, barrier, copy);
  barrier.copies.clear();
  if (barrier.bytes < 0)
    throw Fault("async", "waits for a barrier to which more bytes come than it expects");
  if (barrier.bytes)
    return false;
  endPhase(barrier);
  return true;
}

/// Operands: the barrier, and how many arrivals end a phase.
void initialize(Warp &warp, const Instruction &i, Mask active) {
  located(warp, i, active, [&](int lane) {
    const uint32_t address = sharedAddress(warp, i.operands[0], i.immediate, lane);
    const uint32_t count = warp.values<uint32_t>(i.operands[1])[lane];
    if (count == 0 || count >= 1u << 20)
      throw Fault("barrier", "makes a barrier for " + std::to_string(count) + " arrivals");
    warp.block->memory->shared(address, 8, Access::Write, warp.actor(lane, i.line));
    PhaseBarrier made;
    made.expected = count;
    made.pending = count;
    made.line = i.line;
    made.maker = warp.index;
    made.makerFences = warp.fences[warp.index];
    made.clocks.assign(warp.clocks.size(), 0);
    made.fences.assign(warp.clocks.size(), 0);
    warp.block->phaseBarriers[address] = made;
  });
}

/// Operands: the barrier, and the bytes that its phase is to wait for, if any.
void arriveAt(Warp &warp, const Instruction &i, Mask active) {
  located(warp, i, active, [&](int lane) {
    PhaseBarrier &barrier =
        knownBarrier(warp, sharedAddress(warp, i.operands[0], i.immediate, lane), warp.actor(lane, i.line));
    if (i.operandCount > 1)
      barrier.bytes += warp.values<uint32_t>(i.operands[1])[lane];
    join(barrier.clocks, warp.clocks);
    join(barrier.fences, warp.fences);
    if (--barrier.pending < 0)
      throw Fault("barrier", "arrives at a barrier whose phase all threads have arrived at already");
    if (barrier.pending == 0 && barrier.bytes == 0)
      endPhase(barrier);
  });
  warp.tick();
}

/// Operands: the tile in shared memory, the map, the barrier, coordinates. The halves of the immediate are added to the
/// addresses of the tile and, the upper one, of the barrier.
void copyTile(Warp &warp, const Instruction &i, Mask active) {
  Memory &memory = *warp.block->memory;
  located(warp, i, active, [&](int lane) {
    const Actor actor = warp.asyncActor(lane, i.line);
    BulkCopy copy;
    const uint64_t map = laneAddress(warp, i.operands[1], 0, lane);
    const uint32_t inParameters = map >= ParameterWindow ? Parameter : Generic;
    const uint64_t at = inParameters == Parameter ? map - ParameterWindow : map;
    char bytes[MapBytes];
    if (at % 64)
      throw Fault("alignment", "copies by a tensor map at an address that is no multiple of 64");
    for (uint32_t k = 0; k < MapBytes; k += 16)
      std::memcpy(bytes + k, access(warp, inParameters, at + k, 16, Access::Read, warp.actor(lane, i.line)), 16);
    copy.map = readTensorMap(bytes);
    const int given = i.operandCount - 3;
    if (given != copy.map.rank)
      throw Fault("bounds", "copies a tile of " + std::to_string(given) + " dimensions by a map of " +
                                std::to_string(copy.map.rank));
    copy.coordinates.fill(0);
    for (int d = 0; d < given; ++d)
      copy.coordinates[d] = warp.values<int32_t>(i.operands[3 + d])[lane];
    copy.destination = sharedAddress(warp, i.operands[0], static_cast<int32_t>(i.immediate), lane);
    if (copy.destination % SwizzleBytes)
      throw Fault("alignment", "copies a tile to an address that is no multiple of 128");
    PhaseBarrier &barrier = barrierAt(warp, sharedAddress(warp, i.operands[2], i.immediate >> 32, lane));
    if (warp.fences[barrier.maker] <= barrier.makerFences)
      throw Fault("proxy", "copies for a barrier that was made at line " + std::to_string(barrier.line) +
                               ", with no fence after it");
    copy.warp = warp.index;
    copy.clock = warp.clocks[warp.index];
    copy.line = i.line;
    readTile(
        copy.map, copy.coordinates,
        [&](uint64_t address, uint32_t size) { return memory.global(address, size, Access::Read, actor); },
        [&](uint32_t offset, const char *) {
          memory.shared(swizzled(copy.destination + offset), 16, Access::Write, actor);
        });
    memory.setPending(copy.destination, copy.map.boxBytes(), true);
    barrier.copies.push_back(copy);
  });
}

/// What this warp has written, and barriers it has made, is there for copies and products of whoever comes after it.
void fence(Warp &warp, const Instruction &, Mask) { ++warp.fences[warp.index]; }

} // namespace

Mask phasesOver(Warp &warp, const Instruction &i, Mask active) {
  Mask ready = 0;
  located(warp, i, active, [&](int lane) {
    PhaseBarrier &barrier = barrierAt(warp, sharedAddress(warp, i.operands[1], i.immediate, lane));
    if (isOver(warp, barrier, warp.values<uint32_t>(i.operands[2])[lane]))
      ready |= Mask{1} << lane;
  });
  return ready;
}

void acquirePhases(Warp &warp, const Instruction &i, Mask ready) {
  located(warp, i, ready, [&](int lane) {
    const uint32_t address = sharedAddress(warp, i.operands[1], i.immediate, lane);
    PhaseBarrier &barrier = knownBarrier(warp, address, warp.actor(lane, i.line));
    join(warp.clocks, barrier.doneClocks);
    join(warp.fences, barrier.doneFences);
  });
  warp.tick();
}

void addPhases(HandlerTable &t) {
  t["mbarrier.init"] = initialize;
  t["mbarrier.arrive"] = arriveAt;
  t["mbarrier.wait"] = [](Warp &, const Instruction &, Mask) {}; // see Block::await
  t["cp.async.bulk.tensor"] = copyTile;
  t["fence.proxy"] = fence;
}

} // namespace hlo::emulator
