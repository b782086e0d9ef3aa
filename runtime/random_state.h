// The state that `hlo.rng` draws from: one a process.
#pragma once

#include <cstdint>
#include <utility>

namespace hlo::runtime {

/// Starts the process's sequence of random states anew. Thread safety: both functions, from any thread.
void seedRandomState(uint64_t seed);

/// The seed, and how many states were taken since it was set.
std::pair<uint64_t, uint64_t> nextRandomState();

} // namespace hlo::runtime
