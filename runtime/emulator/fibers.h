// Machine code of GPU kernels, run on the host: a fiber for every thread of a block, one block after the other.
//
// hlo.gpu.bitcode turns the LLVM code that PTX is made from into code for this machine, in which what only a GPU has is
// a call of one of `fiberSymbols()`. Fibers run until they wait for others; a schedule chooses who goes on. Lanes of a
// warp run one after the other between the operations they execute together, so that nothing but barriers orders them.
//
// Ownership: a launch borrows everything. Thread safety: launches of any threads wait for each other.
#pragma once

#include "machine.h"

#include <utility>
#include <vector>

namespace hlo::emulator {

constexpr size_t MostFiberOperands = 32;

/// An operation that lanes of a warp execute together: a handler of the interpreter, on registers of the lanes.
struct WarpOperation {
  Handler run = nullptr;
  std::vector<int> widths; // bytes of each operand a lane, 0 for a predicate
  int firstResult = 0, results = 0;
  int members = -1; // the operand that names its lanes, -1 for all
  uint32_t flags = 0;
};

/// Memory that a block has for itself; variables of the code.
struct SharedVariable {
  uint64_t address, bytes;
};

struct FiberLaunch {
  uint64_t entry; // void(void **arguments)
  std::vector<uint64_t> arguments;
  Dimensions grid, block;
  std::vector<SharedVariable> shared;
  /// 0: warps in turn, in order; 1: the same backwards; 2: one warp as far as it gets before the next; 3: the same
  /// backwards; others: at random.
  uint64_t schedule = 0;
};

/// Runs a kernel to its end and gives the number of times that fibers were entered; throws Fault. What it may access
/// was told to `Memory::restrict`, its shared variables included.
uint64_t launchFibers(const FiberLaunch &launch, const std::vector<WarpOperation> &operations, Memory &memory);

/// What the code may call: name and address.
const std::vector<std::pair<const char *, void *>> &fiberSymbols();

} // namespace hlo::emulator
