// An interpreter of decoded PTX: one warp at a time, each instruction for all 32 lanes. No Python, no globals.
//
// hlo.gpu.ptx decodes PTX text into a Program. A launch runs its blocks one after the other; within a block, warps run
// in an order that a seed chooses, and may be interrupted after any instruction. Lanes of a warp that have parted go on
// separately, those at the least instruction first, until they meet again.
//
// Ownership: a Launch borrows the Program, the Memory and the parameters. Thread safety: one launch at a time for one
// Memory; distinct memories share no state.
#pragma once

#include "memory.h"
#include "tensor_map.h"
#include "warpgroup.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace hlo::emulator {

constexpr int Lanes = 32;
using Mask = uint32_t;
constexpr Mask AllLanes = ~Mask{0};

struct Warp;
struct Instruction;
using Handler = void (*)(Warp &, const Instruction &, Mask active);

/// What an instruction does to the flow of control.
enum class Control : uint8_t {
  Next,        // the handler, then the next instruction
  Branch,      // to `target`
  BranchTable, // operand 0 selects one of the targets in `table`
  Call,        // to `target`; the return address is kept in operand 0
  Return,      // to the address in operand 0
  Exit,        // of the thread
  Collective,  // the handler, once all lanes that it names are here
  Barrier,     // operand 0 is the barrier, operand 1 the number of threads (0: all of the block)
  Arrive,      // the same, without waiting
  Trap,
  Await, // until the phase of a barrier in memory is over, by its handler, which gives the lanes for which it is
};

/// Where a value lives: registers of a warp hold 32 lanes side by side, `width` bytes each; a predicate is a mask.
struct Operand {
  int32_t offset; // into the warp's registers; ~offset into the constants if negative
  int32_t width;  // bytes a lane; 0 for a predicate
};

struct Instruction {
  Handler run = nullptr;
  const Operand *operands = nullptr;
  int32_t operandCount = 0;
  int32_t guard = -1; // offset of a predicate
  bool guardNegated = false;
  bool leader = false;  // lanes may meet here
  bool aligned = false; // all lanes of the warp must be here
  Control control = Control::Next;
  int32_t members = -1; // of a collective: the operand that names its lanes, -1 for all
  uint32_t flags = 0;
  int32_t target = -1;
  int32_t table = -1;
  int32_t line = 0;
  int32_t detail = 0; // fields of `Detail`
  int64_t immediate = 0;
};

/// How hlo.gpu.ptx.decode packs Instruction::detail, from the lowest bit.
struct Detail {
  uint32_t bytes : 6; // of an element in memory
  uint32_t isSigned : 1;
  uint32_t space : 3;
  uint32_t type : 5;
  uint32_t source : 5;
  uint32_t rounding : 3;
  uint32_t integral : 1;
  uint32_t operation : 5;
};
inline Detail detailOf(const Instruction &instruction) {
  const uint32_t d = static_cast<uint32_t>(instruction.detail);
  return {d & 63, d >> 6 & 1, d >> 7 & 7, d >> 10 & 31, d >> 15 & 31, d >> 20 & 7, d >> 23 & 1, d >> 24 & 31};
}

enum Space : uint32_t { Generic, Global, Shared, Local, Parameter };
enum Type : uint32_t { S8, U8, S16, U16, S32, U32, S64, U64, F16, BF16, F32, F64, F16x2, BF16x2, B8, B16, B32, B64 };
enum Operation : uint32_t {
  AtomicAdd,
  AtomicMin,
  AtomicMax,
  AtomicAnd,
  AtomicOr,
  AtomicXor,
  AtomicExchange,
  AtomicCas,
  AtomicInc,
  AtomicDec
};

/// Bits of Instruction::flags.
enum Flag : uint32_t {
  FlushSubnormals = 1,
  Saturate = 2,
  Transposed = 8,
  CombineAnd = 16, // of setp, with its last operand
  CombineOr = 32,
  CombineXor = 64,
  CombineNegated = 128,
  SecondResult = 256, // of setp: the opposite, of shfl: whether the lane was in range
  Relu = 512,
  FiniteOnly = 1024,
};

/// A function of a module, decoded; immutable.
struct Program {
  std::vector<Instruction> code;
  std::vector<Operand> operands;
  std::vector<std::vector<int32_t>> tables;
  std::vector<char> constants; // 64-byte aligned use through `constantData`
  int32_t registerBytes = 0;
  int32_t sharedBytes = 0;
  int32_t localBytes = 0; // a thread
  /// Registers that hold what a thread knows of itself: name (tid.x, ...) and offset.
  std::vector<std::pair<int, int32_t>> specials;
};

enum Special {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicSharedSize,
  TotalSharedSize,
  Clock
};

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct Options {
  uint64_t seed = 0;                      // 0: in order; 1: backwards; others: at random, interrupted at random
  bool races = true;                      // look for data races and for reads of unwritten shared memory
  uint64_t instructionLimit = 1ull << 36; // of all warps together
};

struct AsyncCopy {
  int lane;
  uint32_t group;
  uint64_t destination; // shared address
  uint64_t source;
  uint32_t bytes, sourceBytes;
  int32_t line;
};

/// Lanes of a warp that are at the same instruction.
struct Split {
  int32_t pc;
  Mask mask;
  enum State : uint8_t { Ready, AtCollective, AtBarrier, AtPhase } state;
  int32_t barrier;
};

/// A copy of a tile that has begun: it takes effect when somebody waits for the barrier that counts its bytes.
struct BulkCopy {
  TensorMap map;
  std::array<int32_t, MostDimensions> coordinates;
  uint32_t destination; // shared address
  int warp;             // that began it, and when
  uint32_t clock;
  int32_t line;
};

/// A barrier in shared memory (mbarrier).
struct PhaseBarrier {
  uint32_t expected = 0; // arrivals of a phase
  int64_t pending = 0;   // that have yet to come
  int64_t bytes = 0;     // of copies that have yet to come
  uint32_t phase = 0;    // how many are over
  int32_t line = 0;
  int maker = 0; // the warp that made it, and how many fences it had had
  uint32_t makerFences = 0;
  std::vector<uint32_t> clocks, fences; // of all who have arrived
  std::vector<uint32_t> doneClocks, doneFences;
  std::vector<BulkCopy> copies;
};

/// A product of a warpgroup that a warp has begun: its sums are tokens in registers until it is waited for.
struct WarpgroupProduct {
  WarpgroupMultiply how;
  uint64_t left, right; // descriptors
  bool accumulate;
  uint32_t serial, group;
  int32_t line;
  std::vector<uint32_t> held; // words x lanes: the left factors, where registers have them
  std::vector<uint32_t> sums; // registers x lanes: tokens or numbers
};

/// What a warpgroup's warps begin, each in this order.
struct BegunProduct {
  int32_t line;
  uint64_t left, right;
  bool operator==(const BegunProduct &other) const {
    return line == other.line && left == other.left && right == other.right;
  }
};

struct Block;

struct Warp {
  Block *block = nullptr;
  int index = 0;
  Mask live = 0;
  int32_t pc = 0;
  Mask mask = 0;  // of the lanes that run; 0 if none is ready
  Mask carry = 0; // the condition code of extended-precision arithmetic
  std::vector<Split> parked;
  char *registers = nullptr;
  const char *constants = nullptr;
  uint32_t moment = 0;          // its number, see shadow.h
  std::vector<uint32_t> clocks; // the latest clock of each warp that is over for this one
  std::vector<AsyncCopy> copies;
  std::array<uint32_t, Lanes> group{}; // cp.async groups committed so far
  std::vector<char> local;             // a lane's memory after the other
  std::vector<uint32_t> fences;        // to the asynchronous proxy, of each warp, that come before what this one does
  /// By lane, the first moment that its latest fence to other blocks did not release; 0 if there was none.
  std::array<uint32_t, Lanes> released{};
  std::vector<std::pair<int, Acquired>> observed; // (lane, what others have released), of atomics since its last fence
  std::vector<WarpgroupProduct> products;
  uint32_t productGroup = 0; // of the next product
  uint32_t productsBegun = 0;
  bool productsFenced = false; // by wgmma.fence, since the last group

  template <typename T> T *lanes(const Operand &operand) { return reinterpret_cast<T *>(registers + operand.offset); }
  template <typename T> const T *values(const Operand &operand) const {
    return reinterpret_cast<const T *>(operand.offset >= 0 ? registers + operand.offset : constants + ~operand.offset);
  }
  Mask predicate(const Operand &operand) const { return *values<Mask>(operand); }
  void setPredicate(const Operand &operand, Mask value, Mask active) {
    Mask *stored = lanes<Mask>(operand);
    *stored = (*stored & ~active) | (value & active);
  }
  /// What comes next is another moment.
  void tick();
  Actor actor(int lane, int32_t line) const;
  Actor asyncActor(int lane, int32_t line) const;
  bool finished() const { return live == 0; }
};

struct BarrierState {
  uint32_t arrived = 0;
  uint32_t expected = 0;
  int32_t line = 0;
  std::vector<uint32_t> clocks, fences;
  std::vector<int> warps; // that have arrived
};

struct Block {
  const Program *program;
  Memory *memory;
  const Options *options;
  const char *parameters;
  uint32_t parameterBytes;
  Dimensions grid, size, position;
  uint32_t threads;
  std::vector<Warp> warps;
  std::map<int32_t, BarrierState> barriers;
  std::map<uint32_t, PhaseBarrier> phaseBarriers; // by address
  std::map<int, std::vector<BegunProduct>> begun; // by warpgroup
  uint64_t executed = 0;
  std::mt19937_64 random;

  void runToEnd(uint64_t limit);
  /// The thread of a warp's lane, for messages.
  std::array<uint32_t, 3> thread(int warp, int lane) const;
  [[noreturn]] void fault(const char *kind, const Warp &warp, int lane, int32_t line, const std::string &message) const;

private:
  enum class Stop { Interrupted, Blocked, Finished };
  Stop run(Warp &warp, int64_t quantum);
  bool select(Warp &warp);
  void meet(Warp &warp);
  bool complete(Warp &warp, const Instruction &instruction, Mask active);
  void arrive(Warp &warp, const Instruction &instruction, Mask active, bool wait);
  bool allWaitAt(int32_t barrier) const;
  void await(Warp &warp, const Instruction &instruction, Mask active);
  bool wake(Warp &warp);
  void checkEnd() const;
  [[noreturn]] void deadlock() const;
};

/// The lanes whose phase (operands: result, barrier, parity) is over; copies that it waits for take effect.
Mask phasesOver(Warp &warp, const Instruction &instruction, Mask active);
/// What such lanes may know from then on.
void acquirePhases(Warp &warp, const Instruction &instruction, Mask ready);
/// Whether a word is a sum that a product is still adding to.
bool isPendingSum(const Warp &warp, uint32_t word);
/// Takes the greater of each pair.
void join(std::vector<uint32_t> &into, const std::vector<uint32_t> &from);

struct Statistics {
  uint64_t instructions = 0; // of warps
};

/// Runs a kernel to its end; throws Fault.
Statistics launch(const Program &program, Memory &memory, Dimensions grid, Dimensions block, uint32_t sharedBytes,
                  const std::vector<char> &parameters, const Options &options);

/// Handlers by the names the decoder uses.
using HandlerTable = std::map<std::string, Handler>;
const HandlerTable &handlers();

void addConversions(HandlerTable &table);
void addTransfers(HandlerTable &table);
void addAtomics(HandlerTable &table);
void addCollectives(HandlerTable &table);
void addMatrices(HandlerTable &table);
void addAsynchronous(HandlerTable &table);
void addPhases(HandlerTable &table);
void addWarpgroups(HandlerTable &table);

} // namespace hlo::emulator
