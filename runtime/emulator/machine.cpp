// The flow of control: lanes that part and meet, warps that take turns, barriers.

#include "machine.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

namespace hlo::emulator {

namespace {

constexpr int64_t Turn = 1 << 20; // instructions before another warp has its turn, lest a warp spins forever

std::string count(uint32_t number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

} // namespace

Actor Warp::actor(int lane, int32_t line) const {
  return {moment,        clocks[index], static_cast<uint16_t>(index), static_cast<uint16_t>(lane), line,
          clocks.data(), fences.data()};
}

void Warp::tick() {
  ++clocks[index];
  if (block->memory->races())
    moment = block->memory->timeline().begin(static_cast<uint32_t>(index), clocks[index]);
}

Actor Warp::asyncActor(int lane, int32_t line) const {
  Actor made = actor(lane, line);
  made.isAsync = true;
  return made;
}

void join(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  into.resize(std::max(into.size(), from.size()));
  for (size_t w = 0; w < from.size(); ++w)
    into[w] = std::max(into[w], from[w]);
}

std::array<uint32_t, 3> Block::thread(int warp, int lane) const {
  const uint32_t linear = warp * Lanes + lane;
  return {linear % size.x, linear / size.x % size.y, linear / size.x / size.y};
}

void Block::fault(const char *kind, const Warp &warp, int lane, int32_t line, const std::string &message) const {
  Fault made(kind, message);
  made.line = line;
  made.block = {position.x, position.y, position.z};
  made.thread = thread(warp.index, lane);
  throw made;
}

/// Makes the lanes at the least instruction the ones that run; false if none is ready.
bool Block::select(Warp &warp) {
  auto least = warp.parked.end();
  for (auto split = warp.parked.begin(); split != warp.parked.end(); ++split)
    if (split->state == Split::Ready && (least == warp.parked.end() || split->pc < least->pc))
      least = split;
  if (least == warp.parked.end()) {
    warp.mask = 0;
    return false;
  }
  warp.pc = least->pc;
  warp.mask = least->mask;
  warp.parked.erase(least);
  meet(warp);
  return true;
}

/// Joins lanes that wait at the same instruction; gives way to lanes at a lesser one.
void Block::meet(Warp &warp) {
  for (size_t i = 0; i < warp.parked.size();) {
    Split &other = warp.parked[i];
    if (other.pc == warp.pc && other.state != Split::AtBarrier) {
      warp.mask |= other.mask;
      warp.parked.erase(warp.parked.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  for (const Split &other : warp.parked)
    if (other.state == Split::Ready && other.pc < warp.pc) {
      warp.parked.push_back({warp.pc, warp.mask, Split::Ready, 0});
      select(warp);
      return;
    }
}

/// Whether all lanes that a collective names are here; a lane that has exited is an error.
bool Block::complete(Warp &warp, const Instruction &instruction, Mask active) {
  if (instruction.members < 0)
    return (warp.live & ~active) == 0;
  const uint32_t existing = std::min<uint32_t>(threads - warp.index * Lanes, Lanes);
  const Mask exist = existing == Lanes ? AllLanes : (Mask{1} << existing) - 1;
  const uint32_t *members = warp.values<uint32_t>(instruction.operands[instruction.members]);
  for (int lane = 0; lane < Lanes; ++lane) {
    if (!(active >> lane & 1))
      continue;
    const Mask named = members[lane] & exist;
    if (!(named >> lane & 1))
      fault("collective", warp, lane, instruction.line, "the member mask does not name the thread that executes it");
    if (named & ~warp.live)
      fault("collective", warp, lane, instruction.line, "the member mask names a thread that has exited");
    if (named & ~active)
      return false;
  }
  return true;
}

void Block::arrive(Warp &warp, const Instruction &instruction, Mask active, bool wait) {
  int first = 0;
  while (!(active >> first & 1))
    ++first;
  const int32_t id = static_cast<int32_t>(warp.values<uint32_t>(instruction.operands[0])[first]);
  const uint32_t asked = instruction.operandCount > 1 ? warp.values<uint32_t>(instruction.operands[1])[first] : 0;
  if (id < 0 || id > 15)
    fault("barrier", warp, first, instruction.line, "there is no barrier " + std::to_string(id));
  const uint32_t expected = asked ? asked : threads;
  BarrierState &barrier = barriers[id];
  if (barrier.arrived && barrier.expected != expected)
    fault("barrier", warp, first, instruction.line,
          "expects " + count(expected, "thread") + ", others expect " + std::to_string(barrier.expected));
  barrier.expected = expected;
  barrier.line = instruction.line;
  // A warp counts as a whole where the block is no multiple of it.
  const uint32_t last = threads % Lanes && warp.index == static_cast<int>(warps.size()) - 1 && asked ? Lanes : 0;
  barrier.arrived += last ? last : static_cast<uint32_t>(__builtin_popcount(active));
  join(barrier.clocks, warp.clocks);
  join(barrier.fences, warp.fences);
  if (wait)
    barrier.warps.push_back(warp.index);
  else
    warp.tick();
  if (barrier.arrived > barrier.expected)
    fault("barrier", warp, first, instruction.line,
          count(barrier.arrived, "thread") + " arrived, expected " + std::to_string(barrier.expected));
  if (wait) {
    warp.parked.push_back({warp.pc, active, Split::AtBarrier, id});
    warp.mask &= ~active;
  }
  if (barrier.arrived < barrier.expected)
    return;
  if (allWaitAt(id))
    memory->timeline().beginEpoch();
  for (int w : barrier.warps) {
    Warp &other = warps[w];
    join(other.clocks, barrier.clocks);
    join(other.fences, barrier.fences);
    other.tick();
    for (Split &split : other.parked)
      if (split.state == Split::AtBarrier && split.barrier == id) {
        split.state = Split::Ready;
        ++split.pc;
      }
  }
  barriers.erase(id);
}

bool Block::allWaitAt(int32_t barrier) const {
  return std::all_of(warps.begin(), warps.end(), [&](const Warp &warp) {
    return warp.parked.size() == 1 && warp.parked[0].mask == warp.live && warp.parked[0].state == Split::AtBarrier &&
           warp.parked[0].barrier == barrier;
  });
}

/// Lanes for which a phase of a barrier is over go on, the others wait.
void Block::await(Warp &warp, const Instruction &instruction, Mask active) {
  const Mask ready = phasesOver(warp, instruction, active), rest = warp.mask & ~active;
  if (ready) {
    acquirePhases(warp, instruction, ready);
    warp.setPredicate(instruction.operands[0], AllLanes, ready);
  }
  if (active & ~ready)
    warp.parked.push_back({warp.pc, active & ~ready, Split::AtPhase, 0});
  warp.mask = ready | rest;
  if (warp.mask)
    ++warp.pc;
}

/// Makes lanes ready whose phase is over by now; whether there were any.
bool Block::wake(Warp &warp) {
  bool any = false;
  for (Split &split : warp.parked)
    if (split.state == Split::AtPhase && phasesOver(warp, program->code[split.pc], split.mask)) {
      split.state = Split::Ready;
      any = true;
    }
  return any;
}

/// Throws Fault if the block leaves what nobody has waited for.
void Block::checkEnd() const {
  for (const auto &[address, barrier] : phaseBarriers)
    if (!barrier.copies.empty())
      fault("async", warps[barrier.copies[0].warp], 0, barrier.copies[0].line,
            "begins a bulk copy that nobody has waited for");
  for (const Warp &warp : warps) {
    if (!warp.products.empty())
      fault("async", warp, 0, warp.products[0].line, "begins a product that it has not waited for");
    const auto group = begun.find(warp.index / 4);
    if (group != begun.end() && warp.productsBegun != group->second.size())
      fault("collective", warp, 0, group->second[warp.productsBegun].line,
            "does not begin a product that other warps of its warpgroup do");
  }
}

Block::Stop Block::run(Warp &warp, int64_t quantum) {
  const Instruction *code = program->code.data();
  while (true) {
    if (!warp.mask && !select(warp) && !(wake(warp) && select(warp)))
      return warp.finished() ? Stop::Finished : Stop::Blocked;
    if (quantum-- <= 0)
      return Stop::Interrupted;
    const Instruction &instruction = code[warp.pc];
    if (instruction.leader && !warp.parked.empty()) {
      meet(warp);
      if (code + warp.pc != &instruction)
        continue;
    }
    ++executed;
    Mask active = warp.mask;
    if (instruction.guard >= 0) {
      const Mask guard = *reinterpret_cast<const Mask *>(warp.registers + instruction.guard);
      active &= instruction.guardNegated ? ~guard : guard;
    }
    if (instruction.control == Control::Next) {
      if (active)
        instruction.run(warp, instruction, active);
      ++warp.pc;
      continue;
    }
    if (!active) {
      ++warp.pc;
      continue;
    }
    switch (instruction.control) {
    case Control::Next:
      break;
    case Control::Branch: {
      const Mask rest = warp.mask & ~active;
      if (!rest) {
        warp.pc = instruction.target;
        break;
      }
      warp.parked.push_back({instruction.target, active, Split::Ready, 0});
      warp.parked.push_back({warp.pc + 1, rest, Split::Ready, 0});
      select(warp);
      break;
    }
    case Control::BranchTable: {
      const std::vector<int32_t> &table = program->tables[instruction.table];
      const uint32_t *index = warp.values<uint32_t>(instruction.operands[0]);
      std::map<int32_t, Mask> targets;
      if (warp.mask & ~active)
        targets[warp.pc + 1] = warp.mask & ~active;
      for (int lane = 0; lane < Lanes; ++lane)
        if (active >> lane & 1) {
          if (index[lane] >= table.size())
            fault("bounds", warp, lane, instruction.line,
                  "the branch table has no entry " + std::to_string(index[lane]));
          targets[table[index[lane]]] |= Mask{1} << lane;
        }
      for (auto [pc, mask] : targets)
        warp.parked.push_back({pc, mask, Split::Ready, 0});
      select(warp);
      break;
    }
    case Control::Call: {
      uint32_t *back = warp.lanes<uint32_t>(instruction.operands[0]);
      for (int lane = 0; lane < Lanes; ++lane)
        if (active >> lane & 1)
          back[lane] = static_cast<uint32_t>(warp.pc + 1);
      if (warp.mask & ~active)
        warp.parked.push_back({warp.pc + 1, warp.mask & ~active, Split::Ready, 0});
      warp.parked.push_back({instruction.target, active, Split::Ready, 0});
      warp.mask = 0;
      select(warp);
      break;
    }
    case Control::Return: {
      const uint32_t *back = warp.values<uint32_t>(instruction.operands[0]);
      std::map<int32_t, Mask> targets;
      if (warp.mask & ~active)
        targets[warp.pc + 1] = warp.mask & ~active;
      for (int lane = 0; lane < Lanes; ++lane)
        if (active >> lane & 1)
          targets[static_cast<int32_t>(back[lane])] |= Mask{1} << lane;
      for (auto [pc, mask] : targets)
        warp.parked.push_back({pc, mask, Split::Ready, 0});
      select(warp);
      break;
    }
    case Control::Exit:
      warp.live &= ~active;
      warp.mask &= ~active;
      ++warp.pc;
      break;
    case Control::Trap: {
      int lane = 0;
      while (!(active >> lane & 1))
        ++lane;
      fault("trap", warp, lane, instruction.line, "reaches a trap");
    }
    case Control::Await:
      await(warp, instruction, active);
      break;
    case Control::Collective:
      if (!complete(warp, instruction, active)) {
        warp.parked.push_back({warp.pc, warp.mask, Split::AtCollective, 0});
        warp.mask = 0;
        break;
      }
      instruction.run(warp, instruction, active);
      ++warp.pc;
      break;
    case Control::Barrier:
    case Control::Arrive:
      if (instruction.aligned && (warp.live & ~active)) {
        warp.parked.push_back({warp.pc, warp.mask, Split::AtCollective, 0});
        warp.mask = 0;
        break;
      }
      if (const Mask rest = warp.mask & ~active) {
        warp.parked.push_back({warp.pc + 1, rest, Split::Ready, 0});
        warp.mask = active;
      }
      arrive(warp, instruction, active, instruction.control == Control::Barrier);
      if (warp.mask)
        ++warp.pc;
      break;
    }
  }
}

void Block::deadlock() const {
  uint32_t exited = threads;
  for (const Warp &warp : warps)
    exited -= static_cast<uint32_t>(__builtin_popcount(warp.live));
  // Lanes of a warp that wait for others of it explain more than warps that wait for warps.
  for (Split::State state : {Split::AtCollective, Split::AtPhase, Split::AtBarrier})
    for (const Warp &warp : warps)
      for (const Split &split : warp.parked) {
        if (split.state != state)
          continue;
        const Instruction &instruction = program->code[split.pc];
        const uint32_t here = static_cast<uint32_t>(__builtin_popcount(split.mask));
        const int lane = __builtin_ctz(split.mask);
        if (state == Split::AtCollective)
          fault(instruction.control == Control::Collective ? "collective" : "barrier", warp, lane, instruction.line,
                "only " + count(here, "thread") + " of warp " + std::to_string(warp.index) +
                    " came here, the others of the warp exited or wait elsewhere");
        if (state == Split::AtPhase)
          fault("barrier", warp, lane, instruction.line,
                "deadlock: waits for a phase of a barrier that does not end, the others wait elsewhere or exited");
        const BarrierState &barrier = barriers.at(split.barrier);
        fault("barrier", warp, lane, instruction.line,
              "deadlock: " + count(barrier.arrived, "thread") + " of " + std::to_string(barrier.expected) +
                  " arrived at barrier " + std::to_string(split.barrier) + ", " + std::to_string(exited) +
                  " exited, the others wait elsewhere");
      }
  std::abort(); // a block that is not finished has lanes that wait
}

void Block::runToEnd(uint64_t limit) {
  std::vector<int> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  if (options->seed == 1)
    std::reverse(order.begin(), order.end());
  std::vector<char> finished(warps.size(), 0);
  size_t left = warps.size();
  while (left) {
    if (options->seed > 1)
      std::shuffle(order.begin(), order.end(), random);
    bool moved = false;
    for (int w : order) {
      if (finished[w])
        continue;
      // A random turn is short or, as often, as long as it can be: a warp far ahead of the others finds other mistakes.
      const int64_t quantum = options->seed > 1 && random() % 2 ? static_cast<int64_t>(1 + random() % 64) : Turn;
      const uint64_t before = executed;
      const Stop stop = run(warps[w], quantum);
      moved |= executed != before || stop == Stop::Interrupted;
      if (stop == Stop::Finished) {
        finished[w] = 1;
        --left;
        moved = true;
      }
      if (executed > limit)
        fault("limit", warps[w], 0, program->code[std::min<size_t>(warps[w].pc, program->code.size() - 1)].line,
              "the kernel has not ended after " + std::to_string(options->instructionLimit) + " instructions");
    }
    if (!moved)
      deadlock();
  }
  checkEnd();
}

namespace {

void fill(Warp &warp, const Program &program, const Block &block, uint32_t sharedBytes) {
  const uint32_t dims[12] = {0,
                             0,
                             0,
                             block.size.x,
                             block.size.y,
                             block.size.z,
                             block.position.x,
                             block.position.y,
                             block.position.z,
                             block.grid.x,
                             block.grid.y,
                             block.grid.z};
  for (auto [special, offset] : program.specials) {
    uint32_t *value = reinterpret_cast<uint32_t *>(warp.registers + offset);
    for (int lane = 0; lane < Lanes; ++lane) {
      switch (special) {
      case TidX:
      case TidY:
      case TidZ:
        value[lane] = block.thread(warp.index, lane)[special - TidX];
        break;
      case LaneId:
        value[lane] = lane;
        break;
      case WarpId:
        value[lane] = warp.index;
        break;
      case NwarpId:
        value[lane] = (block.threads + Lanes - 1) / Lanes;
        break;
      case LanemaskEq:
        value[lane] = 1u << lane;
        break;
      case LanemaskLt:
        value[lane] = (1u << lane) - 1;
        break;
      case LanemaskLe:
        value[lane] = (2u << lane) - 1;
        break;
      case LanemaskGt:
        value[lane] = ~((2u << lane) - 1);
        break;
      case LanemaskGe:
        value[lane] = ~((1u << lane) - 1);
        break;
      case DynamicSharedSize:
        value[lane] = sharedBytes - program.sharedBytes;
        break;
      case TotalSharedSize:
        value[lane] = sharedBytes;
        break;
      case Clock:
        value[lane] = 0;
        break;
      default:
        value[lane] = dims[special];
      }
    }
  }
}

} // namespace

Statistics launch(const Program &program, Memory &memory, Dimensions grid, Dimensions size, uint32_t dynamicBytes,
                  const std::vector<char> &parameters, const Options &options) {
  const uint32_t sharedBytes = program.sharedBytes + dynamicBytes;
  memory.beginLaunch(options.races, sharedBytes);
  const uint32_t threads = static_cast<uint32_t>(size.count());
  const int warps = static_cast<int>((threads + Lanes - 1) / Lanes);
  const size_t stride = (static_cast<size_t>(program.registerBytes) + 63) / 64 * 64;
  std::unique_ptr<char, void (*)(void *)> registers(
      static_cast<char *>(std::aligned_alloc(64, std::max<size_t>(stride * warps, 64))), [](void *p) { std::free(p); });
  std::memset(registers.get(), 0, stride * warps);
  std::vector<uint64_t> order(grid.count());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(options.seed);
  if (options.seed == 1)
    std::reverse(order.begin(), order.end());
  else if (options.seed > 1)
    std::shuffle(order.begin(), order.end(), random);

  Block block;
  block.program = &program;
  block.memory = &memory;
  block.options = &options;
  block.parameters = parameters.data();
  block.parameterBytes = static_cast<uint32_t>(parameters.size());
  block.grid = grid;
  block.size = size;
  block.threads = threads;
  block.random = random;
  block.warps.resize(warps);
  Statistics statistics;
  for (uint64_t linear : order) {
    block.position = {static_cast<uint32_t>(linear % grid.x), static_cast<uint32_t>(linear / grid.x % grid.y),
                      static_cast<uint32_t>(linear / grid.x / grid.y)};
    memory.beginBlock();
    block.barriers.clear();
    block.phaseBarriers.clear();
    block.begun.clear();
    for (int w = 0; w < warps; ++w) {
      Warp &warp = block.warps[w];
      warp.block = &block;
      warp.index = w;
      const uint32_t existing = std::min<uint32_t>(threads - w * Lanes, Lanes);
      warp.live = existing == Lanes ? AllLanes : (Mask{1} << existing) - 1;
      warp.pc = 0;
      warp.mask = warp.live;
      warp.parked.clear();
      warp.registers = registers.get() + stride * w;
      warp.constants = program.constants.data();
      warp.clocks.assign(warps, 0);
      warp.tick();
      warp.fences.assign(warps, 0);
      warp.products.clear();
      warp.productGroup = warp.productsBegun = 0;
      warp.productsFenced = false;
      warp.copies.clear();
      warp.group.fill(0);
      warp.released.fill(0);
      warp.observed.clear();
      warp.local.assign(static_cast<size_t>(program.localBytes) * Lanes, static_cast<char>(0xA5));
      fill(warp, program, block, sharedBytes);
    }
    block.executed = 0;
    block.runToEnd(options.instructionLimit - std::min(options.instructionLimit, statistics.instructions));
    statistics.instructions += block.executed;
  }
  return statistics;
}

} // namespace hlo::emulator
