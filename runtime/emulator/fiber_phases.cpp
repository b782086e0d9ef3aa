// Barriers in shared memory, copies of tiles that their phases wait for, and products of warpgroups, on fibers.

#include "fiber_team.h"
#include "warpgroup.h"

#include <algorithm>

namespace hlo::emulator {

/// Whether the phase of a parity is over; if only copies are missing they take effect.
bool Team::isOver(FiberPhases &barrier, uint32_t parity) {
  if ((barrier.phase & 1) != (parity & 1))
    return true;
  if (barrier.pending || barrier.tiles.empty())
    return false;
  for (const FiberTile &tile : barrier.tiles) {
    const uint64_t start = reinterpret_cast<uint64_t>(tile.to);
    readTile(
        tile.map, tile.coordinates, [](uint64_t address, uint32_t) { return reinterpret_cast<const char *>(address); },
        [&](uint32_t offset, const char *piece) {
          std::memcpy(reinterpret_cast<char *>(swizzled(start + offset)), piece, 16);
        });
    barrier.bytes -= tile.map.boxBytes();
  }
  barrier.tiles.clear();
  if (barrier.bytes < 0)
    throw Fault("async", "more bytes come to a barrier than it expects");
  barrier.endIfDone();
  return (barrier.phase & 1) != (parity & 1);
}

/// Lets go on whoever waits for a phase that is over; whether there was one.
bool Team::releasePhases() {
  bool any = false;
  for (Fiber &fiber : fibers)
    if (fiber.state == Fiber::AtPhase && isOver(phases.at(fiber.phaseBarrier), fiber.parity)) {
      fiber.state = Fiber::Ready;
      any = true;
    }
  return any;
}

/// The memory that 18 bits of an address name: in the largest variable that has such a piece, since variables lie
/// anywhere in the host's memory, and tiles in the one that the launch sizes.
const char *Team::sharedPiece(uint32_t address) const {
  constexpr uint64_t Bits = 0x3FFFF;
  const SharedVariable *found = nullptr;
  for (const SharedVariable &variable : launch.shared)
    if (((address - variable.address) & Bits) + 16 <= variable.bytes && (!found || variable.bytes > found->bytes))
      found = &variable;
  if (found)
    return reinterpret_cast<const char *>(found->address + ((address - found->address) & Bits));
  throw Fault("bounds", "multiplies a tile that is not in shared memory");
}

/// Makes the products that all threads of a warpgroup have come to; whether there was one.
bool Team::multiplyWarpgroups() {
  constexpr uint32_t Group = 4 * Lanes;
  bool any = false;
  for (uint32_t first = 0; first + Group <= block.threads; first += Group) {
    const Fiber &leader = fibers[first];
    bool all = true;
    for (uint32_t t = first; t < first + Group && all; ++t)
      all = fibers[t].state == Fiber::AtProduct && fibers[t].site == leader.site &&
            fibers[t].product == leader.product && fibers[t].left == leader.left && fibers[t].right == leader.right;
    if (!all)
      continue;
    const WarpgroupMultiply how = unpackWarpgroupMultiply(leader.product);
    if (!how.held)
      checkDescriptor(leader.left);
    checkDescriptor(leader.right);
    std::vector<uint32_t> held(how.held ? WarpgroupMultiply::Words * Lanes : 0);
    std::vector<uint32_t> sums(static_cast<size_t>(how.registers()) * Lanes);
    for (int warp = 0; warp < 4; ++warp) {
      Fiber *lanesOf = &fibers[first + warp * Lanes];
      for (int r = 0; r < how.registers(); ++r)
        for (int lane = 0; lane < Lanes; ++lane)
          sums[r * Lanes + lane] = lanesOf[lane].sums[r];
      for (size_t k = 0; k < held.size(); ++k)
        held[k] = lanesOf[k % Lanes].held[k / Lanes];
      multiplyWarpgroup(
          how, warp, leader.left, leader.right, [this](uint32_t address) { return sharedPiece(address); }, held.data(),
          sums.data(), true);
      for (int r = 0; r < how.registers(); ++r)
        for (int lane = 0; lane < Lanes; ++lane)
          lanesOf[lane].sums[r] = sums[r * Lanes + lane];
    }
    for (uint32_t t = first; t < first + Group; ++t)
      fibers[t].state = Fiber::Ready;
    any = true;
  }
  return any;
}

namespace {

FiberPhases &phasesAt(const char *address) {
  auto found = team->phases.find(reinterpret_cast<uint64_t>(address));
  if (found == team->phases.end())
    team->fail(Fault("barrier", "uses a barrier in shared memory that was not made"));
  return found->second;
}

void makePhases(char *address, uint32_t arrivals) {
  checkAccess(address, 8, 8, Access::Write);
  FiberPhases made{};
  made.expected = arrivals;
  made.pending = arrivals;
  team->phases[reinterpret_cast<uint64_t>(address)] = made;
}

void arriveAt(char *address, uint32_t bytes) {
  FiberPhases &barrier = phasesAt(address);
  barrier.bytes += bytes;
  if (--barrier.pending < 0)
    team->fail(Fault("barrier", "arrives at a barrier whose phase all threads have arrived at already"));
  barrier.endIfDone();
}

void waitForPhase(char *address, uint32_t parity) {
  phasesAt(address);
  Fiber &fiber = self();
  fiber.phaseBarrier = reinterpret_cast<uint64_t>(address);
  fiber.parity = parity;
  team->wait(Fiber::AtPhase);
}

void copyTile(char *to, const char *map, char *address, int32_t rank, int32_t x, int32_t y, int32_t z, int32_t v,
              int32_t w) {
  FiberTile tile;
  tile.coordinates = {x, y, z, v, w};
  tile.to = to;
  FiberPhases &barrier = phasesAt(address);
  Fault fault("", "");
  try {
    tile.map = readTensorMap(map);
    if (tile.map.rank != rank)
      throw Fault("bounds", "copies a tile by a map of other dimensions");
    readTile(
        tile.map, tile.coordinates,
        [](uint64_t from, uint32_t size) { return team->memory.global(from, size, Access::Read, Actor{}); },
        [](uint32_t, const char *) {});
  } catch (const Fault &caught) {
    fault = caught;
  }
  if (!fault.kind.empty())
    team->fail(fault);
  checkAccess(to, tile.map.boxBytes(), SwizzleBytes, Access::Write);
  barrier.tiles.push_back(tile);
}

void multiplyWarpgroupHere(uint64_t product, uint32_t *sums, const uint32_t *held, uint64_t left, uint64_t right) {
  Fiber &fiber = self();
  fiber.product = product;
  fiber.sums = sums;
  fiber.held = held;
  fiber.left = left;
  fiber.right = right;
  fiber.site = __builtin_return_address(0);
  team->wait(Fiber::AtProduct);
}

} // namespace

void addPhaseSymbols(std::vector<std::pair<const char *, void *>> &symbols) {
  symbols.emplace_back("hlo_gpu_phase_init", reinterpret_cast<void *>(makePhases));
  symbols.emplace_back("hlo_gpu_phase_arrive", reinterpret_cast<void *>(arriveAt));
  symbols.emplace_back("hlo_gpu_phase_wait", reinterpret_cast<void *>(waitForPhase));
  symbols.emplace_back("hlo_gpu_tile_copy", reinterpret_cast<void *>(copyTile));
  symbols.emplace_back("hlo_gpu_warpgroup_multiply", reinterpret_cast<void *>(multiplyWarpgroupHere));
}

} // namespace hlo::emulator
