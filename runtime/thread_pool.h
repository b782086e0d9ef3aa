// Fork-join parallelism for kernels: one pool a process, grown to what calls ask for.
//
// Ownership: the pool is made on first use and never destroyed (its threads are detached and hold nothing). Thread
// safety: `parallelFor` may be called from any thread at any time. One job runs on the pool at a time; a call that
// finds it occupied, also one made from inside a job, runs its range on the calling thread. After fork() the child
// starts with a fresh pool.
#pragma once

#include "kernel_abi.h"

#include <cstdint>

namespace hlo::runtime {

/// Runs kernel(args, begin, end) over [0, n) on at most `threads` threads, the caller among them, in pieces of `grain`.
/// Each thread first does its own contiguous share, then takes pieces of the others'.
void parallelFor(int threads, HloKernelFn kernel, void **args, int64_t n, int64_t grain);

/// Processors this process may run on, at least 1.
int hardwareThreads();

} // namespace hlo::runtime
