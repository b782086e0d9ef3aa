#include "fibers.h"

#include "fiber_team.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <sys/mman.h>

namespace hlo::emulator {

Team *team = nullptr;

namespace {

/// Stacks that no fiber uses. Kept from launch to launch: making them takes longer than a small kernel.
struct Stacks {
  std::vector<char *> all, spare;
  char *take() {
    if (spare.empty()) {
      void *made = mmap(nullptr, StackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (made == MAP_FAILED)
        throw Fault("limit", "there is no memory for the stacks of a block's threads");
      mprotect(made, 4096, PROT_NONE); // an overflow is a crash, and not another thread's error
      all.push_back(static_cast<char *>(made));
      spare.push_back(all.back());
    }
    char *stack = spare.back();
    spare.pop_back();
    return stack;
  }
  /// Takes back the stack of a fiber that is over, or that will not go on.
  void give(char *stack) { spare.push_back(stack); }
  ~Stacks() {
    for (char *stack : all)
      munmap(stack, StackBytes);
  }
};

std::mutex oneLaunch; // at a time: what it runs is known to functions that code calls by name
Stacks stacks;

} // namespace

Team::Team(const FiberLaunch &launch, const std::vector<WarpOperation> &operations, Memory &memory)
    : launch(launch), operations(operations), memory(memory), random(launch.schedule) {
  block.memory = &memory;
  block.grid = launch.grid;
  block.size = launch.block;
  block.threads = static_cast<uint32_t>(launch.block.count());
  fibers.resize(block.threads);
  warps = static_cast<int>((block.threads + Lanes - 1) / Lanes);
  registers.resize(MostFiberOperands * Lanes);
  lanes.block = &block;
  lanes.registers = reinterpret_cast<char *>(registers.data());
  lanes.clocks.resize(warps);
  for (uint64_t argument : launch.arguments)
    arguments.push_back(reinterpret_cast<void *>(argument));
}

Team::~Team() {
  for (Fiber &fiber : fibers)
    if (fiber.stack)
      stacks.give(fiber.stack);
}

void Team::start() {
  reinterpret_cast<void (*)(void **)>(team->launch.entry)(team->arguments.data());
  team->wait(Fiber::Done);
  std::abort(); // nobody goes on with what is done
}

void Team::wait(Fiber::State state) {
  Fiber &fiber = self();
  fiber.state = state;
  switchStack(fiber.position, scheduler);
}

void Team::fail(const Fault &fault) {
  failure = fault;
  failed = true;
  wait(Fiber::Done);
  std::abort();
}

void Team::enter(uint32_t thread) {
  Fiber &fiber = fibers[thread];
  if (fiber.state == Fiber::New) {
    fiber.stack = stacks.take();
    prepareStack(fiber.position, fiber.stack, StackBytes, &Team::start);
  }
  fiber.state = Fiber::Ready;
  current = thread;
  ++entered;
  switchStack(scheduler, fiber.position);
  if (fiber.state == Fiber::Done) {
    stacks.give(fiber.stack);
    fiber.stack = nullptr;
  }
  if (failed) {
    failure.block = {block.position.x, block.position.y, block.position.z};
    failure.thread = block.thread(static_cast<int>(thread / Lanes), static_cast<int>(thread % Lanes));
    throw failure;
  }
}

/// Runs each lane of a warp that can run until it waits; whether there was one.
bool Team::runLanes(int warp) {
  auto [first, last] = threadsOf(warp);
  uint32_t order[Lanes];
  const uint32_t count = last - first;
  std::iota(order, order + count, first);
  if (backwards())
    std::reverse(order, order + count);
  else if (atRandom())
    std::shuffle(order, order + count, random);
  bool ran = false;
  for (uint32_t k = 0; k < count; ++k)
    if (fibers[order[k]].state <= Fiber::Ready) {
      enter(order[k]);
      ran = true;
    }
  return ran;
}

/// Performs the operations of a warp whose lanes are all there; whether there was one.
bool Team::complete(int warp) {
  auto [first, last] = threadsOf(warp);
  Mask live = 0, done = 0;
  for (uint32_t t = first; t < last; ++t)
    live |= Mask{1} << (t - first);
  bool any = false;
  for (uint32_t t = first; t < last; ++t) {
    const Fiber &fiber = fibers[t];
    if (fiber.state != Fiber::AtOperation || done >> (t - first) & 1)
      continue;
    const Mask wanted = fiber.members & live;
    bool all = wanted >> (t - first) & 1;
    for (uint32_t other = first; other < last && all; ++other)
      if (wanted >> (other - first) & 1)
        all = fibers[other].state == Fiber::AtOperation && fibers[other].site == fiber.site &&
              fibers[other].members == fiber.members;
    if (!all)
      continue;
    perform(warp, *fiber.operation, wanted);
    done |= wanted;
    any = true;
  }
  for (uint32_t t = first; t < last; ++t)
    if (done >> (t - first) & 1)
      fibers[t].state = Fiber::Ready;
  return any;
}

/// Runs a handler of the interpreter on the values of waiting lanes.
void Team::perform(int warp, const WarpOperation &operation, Mask active) {
  Operand operands[MostFiberOperands];
  lanes.index = warp;
  const int count = static_cast<int>(operation.widths.size());
  for (int k = 0; k < count; ++k) {
    const int width = operation.widths[k];
    operands[k] = {static_cast<int32_t>(k * Lanes * sizeof(uint64_t)), width};
    char *base = lanes.registers + operands[k].offset;
    if (width == 0)
      *reinterpret_cast<Mask *>(base) = 0;
    forEach(active, [&](int lane) {
      const uint64_t value = fibers[warp * Lanes + lane].values[k];
      if (width == 0)
        *reinterpret_cast<Mask *>(base) |= static_cast<Mask>(value & 1) << lane;
      else
        std::memcpy(base + lane * width, &value, width);
    });
  }
  Instruction instruction;
  instruction.operands = operands;
  instruction.operandCount = count;
  instruction.flags = operation.flags;
  instruction.members = operation.members;
  if (operation.run)
    operation.run(lanes, instruction, active);
  for (int k = operation.firstResult; k < operation.firstResult + operation.results; ++k) {
    const int width = operation.widths[k];
    const char *base = lanes.registers + operands[k].offset;
    forEach(active, [&](int lane) {
      uint64_t value = 0;
      if (width == 0)
        value = *reinterpret_cast<const Mask *>(base) >> lane & 1;
      else
        std::memcpy(&value, base + lane * width, width);
      fibers[warp * Lanes + lane].values[k] = value;
    });
  }
}

/// Lets go on whoever waits at a barrier that all its threads have come to; whether there was one.
bool Team::releaseBarrier() {
  bool any = false;
  for (uint32_t t = 0; t < block.threads; ++t) {
    if (fibers[t].state != Fiber::AtBarrier)
      continue;
    const int32_t barrier = fibers[t].barrier;
    const uint32_t wanted = fibers[t].barrierThreads ? fibers[t].barrierThreads : block.threads;
    uint32_t there = 0;
    for (const Fiber &other : fibers)
      there += other.state == Fiber::AtBarrier && other.barrier == barrier;
    if (there < wanted)
      continue;
    for (Fiber &other : fibers)
      if (other.state == Fiber::AtBarrier && other.barrier == barrier)
        other.state = Fiber::Ready;
    any = true;
  }
  return any;
}

void Team::deadlock() {
  for (uint32_t t = 0; t < block.threads; ++t) {
    const Fiber::State state = fibers[t].state;
    if (state != Fiber::AtOperation && state < Fiber::AtBarrier)
      continue;
    if (state == Fiber::Done)
      continue;
    const bool atBarrier = state == Fiber::AtBarrier || state == Fiber::AtPhase;
    Warp warp;
    warp.index = static_cast<int>(t / Lanes);
    block.fault(atBarrier ? "barrier" : "collective", warp, static_cast<int>(t % Lanes), 0,
                state == Fiber::AtPhase     ? "waits for a phase of a barrier that does not end"
                : state == Fiber::AtBarrier ? "waits at a barrier that not all threads come to"
                : state == Fiber::AtProduct ? "waits for threads of its warpgroup that begin no such product"
                                            : "waits for lanes of its warp that do not come");
  }
  throw Fault("barrier", "no thread can go on");
}

void Team::runBlock() {
  for (const SharedVariable &variable : launch.shared)
    std::memset(reinterpret_cast<void *>(variable.address), 0xA5, variable.bytes);
  for (Fiber &fiber : fibers) {
    fiber.state = Fiber::New;
    fiber.copies.clear();
    fiber.group = 0;
  }
  phases.clear();
  std::vector<int> order(warps);
  std::iota(order.begin(), order.end(), 0);
  if (backwards())
    std::reverse(order.begin(), order.end());
  for (;;) {
    bool progress = false;
    if (atRandom())
      std::shuffle(order.begin(), order.end(), random);
    for (int warp : order) {
      bool more;
      do {
        more = runLanes(warp);
        more |= complete(warp);
        progress |= more;
      } while (more && greedy());
    }
    progress |= releaseBarrier();
    progress |= releasePhases();
    progress |= multiplyWarpgroups();
    if (std::all_of(fibers.begin(), fibers.end(), [](const Fiber &f) { return f.state == Fiber::Done; })) {
      for (const auto &[address, barrier] : phases)
        if (!barrier.tiles.empty())
          throw Fault("async", "the kernel ends before a copy that nobody has waited for");
      return;
    }
    if (!progress)
      deadlock();
  }
}

uint64_t Team::run() {
  std::vector<uint64_t> order(launch.grid.count());
  std::iota(order.begin(), order.end(), 0);
  if (backwards())
    std::reverse(order.begin(), order.end());
  else if (atRandom())
    std::shuffle(order.begin(), order.end(), random);
  for (uint64_t linear : order) {
    block.position = {static_cast<uint32_t>(linear % launch.grid.x),
                      static_cast<uint32_t>(linear / launch.grid.x % launch.grid.y),
                      static_cast<uint32_t>(linear / launch.grid.x / launch.grid.y)};
    runBlock();
  }
  return entered;
}

namespace {

// -- what the code calls
// ------------------------------------------------------------------------------------------------

uint32_t special(int32_t which) {
  const Block &block = team->block;
  const auto position = block.thread(static_cast<int>(team->current / Lanes), static_cast<int>(team->current % Lanes));
  switch (which) {
  case TidX:
  case TidY:
  case TidZ:
    return position[which - TidX];
  case NtidX:
    return block.size.x;
  case NtidY:
    return block.size.y;
  case NtidZ:
    return block.size.z;
  case CtaidX:
    return block.position.x;
  case CtaidY:
    return block.position.y;
  case CtaidZ:
    return block.position.z;
  case NctaidX:
    return block.grid.x;
  case NctaidY:
    return block.grid.y;
  case NctaidZ:
    return block.grid.z;
  case LaneId:
    return team->current % Lanes;
  default:
    return team->current / Lanes;
  }
}

void barrier(int32_t number, uint32_t threads) {
  Fiber &fiber = self();
  fiber.barrier = number;
  fiber.barrierThreads = threads;
  team->wait(Fiber::AtBarrier);
}

void warpOperation(int32_t number, uint64_t *values) {
  Fiber &fiber = self();
  fiber.operation = &team->operations[number];
  fiber.values = values;
  const int members = fiber.operation->members;
  fiber.members = members < 0 ? AllLanes : static_cast<Mask>(values[members]);
  fiber.site = __builtin_return_address(0);
  team->wait(Fiber::AtOperation);
}

/// Ends the launch by the interpreter's message.
[[noreturn]] void refuse(uint64_t at, uint32_t bytes, uint64_t alignment, Access access) {
  Fault fault("bounds", "accesses memory that the launch does not name");
  try {
    if (at & (alignment - 1))
      throw Fault("alignment", "accesses memory at an address that is no multiple of " + std::to_string(alignment));
    for (uint32_t k = 0; k < bytes; ++k)
      team->memory.global(at + k, 1, access, Actor{});
  } catch (const Fault &caught) {
    fault = caught;
  }
  team->fail(fault);
}

} // namespace

/// Checks an access as the interpreter does; `alignment` is what the code takes for granted. LLVM widens loads: only
/// where one begins counts.
void checkAccess(const char *address, uint64_t bytes, uint64_t alignment, Access access) {
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  const uint64_t checked = access == Access::Read ? 1 : bytes;
  if ((at & (alignment - 1)) == 0 && team->mayAccess(at, checked, access))
    return;
  const Fiber &fiber = self();
  if (address >= fiber.stack && address + bytes <= fiber.stack + StackBytes)
    return;
  refuse(at, static_cast<uint32_t>(checked), alignment, access);
}

namespace {

void checkRead(const char *address, uint64_t bytes, uint64_t alignment) {
  checkAccess(address, bytes, alignment, Access::Read);
}

void checkWrite(const char *address, uint64_t bytes, uint64_t alignment) {
  checkAccess(address, bytes, alignment, Access::Write);
}

void copyAsync(char *to, const char *from, uint32_t bytes, uint32_t copied) {
  if (copied > bytes)
    team->fail(Fault("bounds", "copies " + std::to_string(copied) + " bytes of " + std::to_string(bytes)));
  checkWrite(to, bytes, bytes);
  if (copied)
    checkRead(from, copied, std::min<uint64_t>(bytes, copied & (~copied + 1)));
  Fiber &fiber = self();
  fiber.copies.push_back({to, from, bytes, copied, fiber.group});
}

void commitCopies() { ++self().group; }

/// Finishes copies until at most `pending` groups are left; the newest, not committed, only if `pending` is negative.
void waitForCopies(int32_t pending) {
  Fiber &fiber = self();
  std::vector<FiberCopy> left;
  for (const FiberCopy &copy : fiber.copies) {
    const bool over = pending < 0 || copy.group + static_cast<uint32_t>(pending) < fiber.group;
    if (!over) {
      left.push_back(copy);
      continue;
    }
    std::memcpy(copy.to, copy.from, copy.copied);
    std::memset(copy.to + copy.copied, 0, copy.bytes - copy.copied);
  }
  fiber.copies = std::move(left);
}

void trap() { team->fail(Fault("trap", "gives up")); }

} // namespace

uint64_t launchFibers(const FiberLaunch &launch, const std::vector<WarpOperation> &operations, Memory &memory) {
  std::lock_guard<std::mutex> alone(oneLaunch);
  memory.beginLaunch(false, 0);
  Team made(launch, operations, memory);
  struct Entered {
    explicit Entered(Team *made) { team = made; }
    ~Entered() { team = nullptr; }
  } entered(&made);
  return made.run();
}

const std::vector<std::pair<const char *, void *>> &fiberSymbols() {
  static const std::vector<std::pair<const char *, void *>> symbols = [] {
    std::vector<std::pair<const char *, void *>> made = {
        {"hlo_gpu_special", reinterpret_cast<void *>(special)},
        {"hlo_gpu_barrier", reinterpret_cast<void *>(barrier)},
        {"hlo_gpu_warp_operation", reinterpret_cast<void *>(warpOperation)},
        {"hlo_gpu_read", reinterpret_cast<void *>(checkRead)},
        {"hlo_gpu_write", reinterpret_cast<void *>(checkWrite)},
        {"hlo_gpu_copy_async", reinterpret_cast<void *>(copyAsync)},
        {"hlo_gpu_copy_commit", reinterpret_cast<void *>(commitCopies)},
        {"hlo_gpu_copy_wait", reinterpret_cast<void *>(waitForCopies)},
        {"hlo_gpu_trap", reinterpret_cast<void *>(trap)},
    };
    addPhaseSymbols(made);
    return made;
  }();
  return symbols;
}

} // namespace hlo::emulator
