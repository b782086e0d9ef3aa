// Cuts the arithmetic of indices where it crosses from one basic block into another, for the code generator's sake.
//
// Thread safety: modules of distinct LLVM contexts may be treated at the same time.
#pragma once

#include "llvm-c/Types.h"

namespace hlo::runtime {

/// Freezes the 64-bit integers that are computed in one block and read in another.
///
/// Loop strength reduction sees through sums and products to the loops all around: an address in a nest of loops is a
/// recurrence of as many levels, and the ways to compute a few dozen of them, which it goes through, are many. What was
/// computed outside is as good as a register's content, and `freeze` makes it one: code generation takes half to two
/// thirds of the time, and code is as fast. Values of one block that differ by a constant stay so, a frozen one and a
/// sum, so that their addresses differ by displacements.
///
/// Freezes also what is computed of a loop's counter in fewer bits. That is data: a hash that adds its round's number
/// was a recurrence with all of its other terms in it, and the ways to compute those took nine tenths of the time.
///
/// To be run after loop-invariant code motion. Results of the module stay the same.
void cutIndices(LLVMModuleRef module);

} // namespace hlo::runtime
